"""Documents become rows of word ids as TensorFlow 1.15 makes them."""

import stratax.tf as tf

preprocessing = tf.contrib.learn.preprocessing
DOCUMENTS = ["the cat sat, the end", "The CAT's end", "a cat and the dog XMLParser's"]


def test_words_are_numbered_as_tensorflow():
    made = preprocessing.VocabularyProcessor(4)
    assert [row.tolist() for row in made.fit_transform(DOCUMENTS)] == [
        [1, 2, 3, 1],
        [5, 6, 7, 4],
        [8, 2, 9, 1],
    ]
    assert len(made.vocabulary_) == 13
    assert [row.tolist() for row in made.transform(["dog new the"])] == [[10, 0, 1, 0]]


def test_rare_words_are_left_out(tmp_path):
    made = preprocessing.VocabularyProcessor(5, min_frequency=1)
    rows = [[1, 2, 0, 1, 3], [0, 0, 0, 3, 0], [0, 2, 0, 1, 0]]
    assert [row.tolist() for row in made.fit_transform(DOCUMENTS)] == rows
    assert (len(made.vocabulary_), list(made.reverse([[1, 2, 0]]))) == (4, ["the cat <UNK>"])
    path = str(tmp_path / "vocabulary")
    made.save(path)
    again = preprocessing.VocabularyProcessor.restore(path)
    assert [row.tolist() for row in again.transform(DOCUMENTS)] == rows


def test_words_end_where_case_changes():
    assert next(preprocessing.tokenizer(["XMLParser's"])) == ["XML", "Parser's"]


def test_a_vocabulary_counts_and_trims():
    made = preprocessing.CategoricalVocabulary("?")
    for word in ["a", "b", "b", "c", "c", "c"]:
        made.add(word)
    made.trim(1, max_frequency=3)
    assert (len(made), made.get("b"), made.reverse(0)) == (2, 1, "?")
    made.freeze()
    assert made.get("a") == 0
