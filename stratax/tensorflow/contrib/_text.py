"""`tf.contrib.learn.preprocessing`: documents as rows of word ids."""

import collections
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from stratax.io import gfile

# Words, with acronyms and parts of CamelCase by themselves.
_WORDS = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|['\w\-]+")


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Return the words of each document.

    Args:
        iterator: The documents.
    """
    for value in iterator:
        yield _WORDS.findall(value)


class CategoricalVocabulary:
    """Numbers words, as `tf.contrib.learn.preprocessing.CategoricalVocabulary`.

    Args:
        unknown_token: What stands for words that have no number.
        support_reverse: Whether words are found by their numbers.
    """

    def __init__(self, unknown_token: str = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown = unknown_token
        self._numbers = {unknown_token: 0}
        self._words = [unknown_token] if support_reverse else []
        self._supports_reverse = support_reverse
        self._counts: dict[str, int] = collections.defaultdict(int)
        self._is_frozen = False

    def __len__(self) -> int:
        """Return how many words there are, with that for unknown ones."""
        return len(self._numbers)

    def freeze(self, freeze: bool = True) -> None:
        """Have no more words numbered.

        Args:
            freeze: False to number them again.
        """
        self._is_frozen = freeze

    def get(self, category: str) -> int:
        """Return a word's number, which it gets if it has none; 0 for unknown ones.

        Args:
            category: The word.
        """
        if category not in self._numbers:
            if self._is_frozen:
                return 0
            self._numbers[category] = len(self._numbers)
            if self._supports_reverse:
                self._words.append(category)
        return self._numbers[category]

    def add(self, category: str, count: int = 1) -> None:
        """Count a word towards how often it was seen.

        Args:
            category: The word.
            count: How often.
        """
        if self.get(category) > 0:
            self._counts[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Leave out rare words, and number the others by how often they were counted.

        Args:
            min_frequency: More often than this.
            max_frequency: And less often than this; -1 for no limit.
        """
        kept = sorted(sorted(self._counts.items()), key=lambda each: -each[1])
        chosen = {
            word: count for word, count in kept if count > min_frequency and not 0 < max_frequency <= count
        }
        self._counts = collections.defaultdict(int, chosen)
        words = [self._unknown, *chosen]
        self._numbers = {word: number for number, word in enumerate(words)}
        self._words = words if self._supports_reverse else []

    def reverse(self, class_id: int) -> str:
        """Return a number's word.

        Args:
            class_id: The number.
        """
        return self._words[class_id]


class VocabularyProcessor:
    """Makes rows of word ids of documents, as `tf.contrib.learn.preprocessing.VocabularyProcessor`.

    Args:
        max_document_length: How long rows are: longer documents are cut, shorter ones filled up with 0.
        min_frequency: More often than this a word has to come.
        vocabulary: Numbers words; by default a new one.
        tokenizer_fn: Makes lists of words of documents.

    Attributes:
        max_document_length: See there.
        min_frequency: See there.
        vocabulary_: What numbers words.
    """

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Sequence[str]]] | None = None,
    ) -> None:
        self.max_document_length = max_document_length
        self.min_frequency = min_frequency
        self.vocabulary_ = vocabulary or CategoricalVocabulary()
        self._tokenizer = tokenizer_fn or tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: object = None) -> "VocabularyProcessor":
        """Number the words of documents, and return the object.

        Args:
            raw_documents: The documents.
            unused_y: Ignored.
        """
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(self, raw_documents: Sequence[str], unused_y: object = None) -> Iterator[np.ndarray]:
        """Number the words of documents, and return rows of them.

        Args:
            raw_documents: The documents.
            unused_y: Ignored.
        """
        return self.fit(raw_documents).transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Return rows of word ids.

        Args:
            raw_documents: The documents.
        """
        for words in self._tokenizer(raw_documents):
            row = np.zeros(self.max_document_length, np.int64)
            numbers = [self.vocabulary_.get(word) for word in words[: self.max_document_length]]
            row[: len(numbers)] = numbers
            yield row

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """Return documents of rows.

        Args:
            documents: The rows.
        """
        for row in documents:
            yield " ".join(self.vocabulary_.reverse(int(number)) for number in row)

    def save(self, filename: str) -> None:
        """Write the object into a file, all at once.

        Args:
            filename: The file.
        """
        gfile.write_file(filename, pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> Any:
        """Return the object of a file that :meth:`save` has written: one of your own, since reading it may run code.

        Args:
            filename: The file.
        """
        with gfile.GFile(filename, "rb") as file:
            return pickle.loads(file.read())
