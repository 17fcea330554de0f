"""Programs of TensorFlow 1 with sessions, in few lines each, and what they compute to be compared with TensorFlow."""

import os

import numpy as np

CASES = {}
# Of TensorFlow 1 alone, with its tf.contrib.
CONTRIB_CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def contrib_case(function):
    CONTRIB_CASES[function.__name__] = function
    return function


def numbers(*shape, seed=0, scale=1.0):
    return (scale * np.random.RandomState(seed).randn(*shape)).astype("float32")


def labels_of(count, classes, seed=0):
    return np.random.RandomState(seed).randint(0, classes, count)


def const(*shape, seed=0, scale=0.5):
    return numbers(*shape, seed=seed, scale=scale)


@case
def linear_regression(tf):
    train_x, train_y = numbers(17, seed=1), numbers(17, seed=2)
    x, y = tf.placeholder("float"), tf.placeholder("float")
    w, b = tf.Variable(0.3, name="weight"), tf.Variable(-0.2, name="bias")
    pred = tf.add(tf.multiply(x, w), b)
    cost = tf.reduce_sum(tf.pow(pred - y, 2)) / (2 * 17)
    optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
    init = tf.global_variables_initializer()
    with tf.Session() as sess:
        sess.run(init)
        for _ in range(3):
            for own_x, own_y in zip(train_x, train_y, strict=True):
                sess.run(optimizer, feed_dict={x: own_x, y: own_y})
        return sess.run(cost, feed_dict={x: train_x, y: train_y}), sess.run([w, b])


@case
def softmax_interactive(tf):
    images, classes = numbers(20, 12, seed=1), np.eye(5, dtype="float32")[labels_of(20, 5)]
    sess = tf.InteractiveSession()
    x = tf.placeholder(tf.float32, shape=[None, 12])
    y_ = tf.placeholder(tf.float32, shape=[None, 5])
    w, b = tf.Variable(tf.zeros([12, 5])), tf.Variable(tf.zeros([5]))
    sess.run(tf.initialize_all_variables() if hasattr(tf, "initialize_all_variables") else None)
    y = tf.nn.softmax(tf.matmul(x, w) + b)
    cross_entropy = tf.reduce_mean(-tf.reduce_sum(y_ * tf.log(y), reduction_indices=[1]))
    train_step = tf.train.GradientDescentOptimizer(0.5).minimize(cross_entropy)
    for start in range(0, 20, 5):
        train_step.run(feed_dict={x: images[start : start + 5], y_: classes[start : start + 5]})
    correct = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    found = accuracy.eval({x: images, y_: classes}), w.eval(), b.eval()
    sess.close()
    return found


@case
def multilayer_perceptron(tf):
    weights = {
        "h1": tf.Variable(const(6, 8, seed=1)),
        "h2": tf.Variable(const(8, 8, seed=2)),
        "out": tf.Variable(const(8, 3, seed=3)),
    }
    biases = {
        "b1": tf.Variable(tf.zeros([8])),
        "b2": tf.Variable(tf.ones([8])),
        "out": tf.Variable(tf.zeros([3])),
    }
    x, y = tf.placeholder("float", [None, 6]), tf.placeholder("float", [None, 3])
    with tf.name_scope("Model"):
        layer = tf.nn.relu(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
        layer = tf.nn.sigmoid(tf.add(tf.matmul(layer, weights["h2"]), biases["b2"]))
        logits = tf.matmul(layer, weights["out"]) + biases["out"]
    with tf.name_scope("Loss"):
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=y))
        loss += 0.01 * sum(tf.nn.l2_loss(each) for each in weights.values())
    train_op = tf.train.MomentumOptimizer(learning_rate=0.1, momentum=0.9).minimize(loss)
    found = []
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(5):
            batch_x, batch_y = numbers(7, 6, seed=step), np.eye(3)[labels_of(7, 3, step)]
            _, c = sess.run([train_op, loss], feed_dict={x: batch_x, y: batch_y})
            found.append(c)
        found.append(sess.run(weights))
        found.append(sess.run(tf.argmax(logits, 1), {x: numbers(4, 6, seed=9)}))
    return found, [each.name for each in tf.trainable_variables()], logits.name, logits.shape.as_list()


@case
def convolutional(tf):
    x = tf.placeholder(tf.float32, [None, 64])
    y = tf.placeholder(tf.float32, [None, 4])
    keep_prob = tf.placeholder(tf.float32)

    def conv2d(x, W, b, strides=1):
        x = tf.nn.conv2d(x, W, strides=[1, strides, strides, 1], padding="SAME")
        return tf.nn.relu(tf.nn.bias_add(x, b))

    image = tf.reshape(x, shape=[-1, 8, 8, 1])
    conv1 = conv2d(image, tf.Variable(const(3, 3, 1, 4, seed=1)), tf.Variable(const(4, seed=2)))
    conv1 = tf.nn.max_pool(conv1, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    wd1 = tf.Variable(const(4 * 4 * 4, 6, seed=3, scale=0.1))
    fc1 = tf.reshape(conv1, [-1, wd1.get_shape().as_list()[0]])
    fc1 = tf.nn.dropout(tf.nn.relu(tf.matmul(fc1, wd1)), keep_prob)
    pred = tf.add(tf.matmul(fc1, tf.Variable(const(6, 4, seed=4))), tf.Variable(tf.zeros([4])))
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=pred, labels=y))
    optimizer = tf.train.AdagradOptimizer(0.05).minimize(cost)
    correct = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            feed = {x: numbers(6, 64, seed=step), y: np.eye(4)[labels_of(6, 4, step)], keep_prob: 1.0}
            sess.run(optimizer, feed_dict=feed)
            found.append(sess.run([cost, accuracy], feed_dict=feed))
    return found, fc1.shape.as_list(), conv1.get_shape().as_list()


@case
def layers_with_batch_normalization(tf):
    x = tf.placeholder(tf.float32, (None, 8, 8, 2), name="inputs")
    y = tf.placeholder(tf.int64, [None])
    is_training = tf.placeholder(tf.bool, name="is_training")
    net = tf.layers.conv2d(
        x, 4, 3, padding="same", kernel_initializer=tf.constant_initializer(0.1), name="conv1"
    )
    net = tf.nn.relu(tf.layers.batch_normalization(net, training=is_training, momentum=0.9))
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.flatten(net)
    net = tf.layers.dense(
        net, 5, tf.nn.tanh, kernel_initializer=tf.constant_initializer(const(64, 5, seed=3))
    )
    net = tf.layers.batch_normalization(net, training=is_training)
    net = tf.layers.dropout(net, rate=0.0, training=is_training)
    logits = tf.layers.dense(net, 3, kernel_initializer=tf.constant_initializer(const(5, 3, seed=4)))
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(update_ops):
        train_op = tf.train.GradientDescentOptimizer(0.02).minimize(loss)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            feed = {x: numbers(6, 8, 8, 2, seed=step), y: labels_of(6, 3, step), is_training: True}
            found.append(sess.run([train_op, loss], feed)[1])
        feed[is_training] = False
        found.append(sess.run([loss, logits], feed))
        found.append({each.name: each.eval() for each in tf.global_variables()})
    return found, [each.name for each in tf.trainable_variables()]


@case
def layers_without_updates(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.layers.batch_normalization(x, training=True)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        out = sess.run(y, {x: numbers(5, 4)})
        before = sess.run(tf.global_variables())
        sess.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), {x: numbers(5, 4)})
        return out, before, sess.run(tf.global_variables())


@case
def recurrent(tf):
    x = tf.placeholder("float", [None, 5, 3])
    lengths = tf.placeholder(tf.int32, [None])
    y = tf.placeholder("float", [None, 2])
    cell = tf.nn.rnn_cell.BasicLSTMCell(4, forget_bias=1.0)
    with tf.variable_scope("rnn_layer", initializer=tf.constant_initializer(0.1)):
        outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=lengths, dtype=tf.float32)
    w = tf.get_variable("w", [4, 2], initializer=tf.constant_initializer(const(4, 2)))
    logits = tf.matmul(state.h, w)
    loss = tf.reduce_mean(tf.square(logits - y))
    train = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            feed = {x: numbers(4, 5, 3, seed=step), y: numbers(4, 2, seed=step + 9), lengths: [5, 3, 1, 4]}
            found.append(sess.run([loss, train], feed)[0])
        found.append(sess.run([outputs, state], feed))
    return found, [each.name for each in tf.global_variables()], outputs.shape.as_list()


@case
def character_model(tf):
    vocab, size, batch, steps = 8, 6, 2, 4
    inputs = tf.placeholder(tf.int32, [batch, steps])
    targets = tf.placeholder(tf.int32, [batch, steps])
    cells = [tf.nn.rnn_cell.BasicRNNCell(size), tf.nn.rnn_cell.GRUCell(size)]
    cell = tf.nn.rnn_cell.MultiRNNCell(cells)
    initial_state = cell.zero_state(batch, tf.float32)
    with tf.variable_scope("rnnlm", initializer=tf.constant_initializer(0.05)):
        embedding = tf.get_variable(
            "embedding", [vocab, size], initializer=tf.constant_initializer(const(vocab, size))
        )
        softmax_w = tf.get_variable(
            "softmax_w", [size, vocab], initializer=tf.constant_initializer(const(size, vocab))
        )
        softmax_b = tf.get_variable("softmax_b", [vocab])
        outputs, last_state = tf.nn.dynamic_rnn(
            cell, tf.nn.embedding_lookup(embedding, inputs), initial_state=initial_state
        )
    output = tf.reshape(outputs, [-1, size])
    logits = tf.matmul(output, softmax_w) + softmax_b
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
    )
    lr = tf.Variable(0.0, trainable=False)
    tvars = tf.trainable_variables()
    grads, norm = tf.clip_by_global_norm(tf.gradients(loss, tvars), 0.3)
    train_op = tf.train.GradientDescentOptimizer(lr).apply_gradients(zip(grads, tvars, strict=True))
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(tf.assign(lr, 0.5))
        state = sess.run(initial_state)
        for step in range(4):
            # Each once: of rows that are looked up twice, TensorFlow's norm counts each part.
            ids = np.random.RandomState(step).permutation(vocab).reshape(batch, steps)
            feed = {inputs: ids, targets: np.roll(ids, -1, axis=1)}
            for i, each in enumerate(initial_state):
                feed[each] = state[i]
            cost, state, own, _ = sess.run([loss, last_state, norm, train_op], feed)
            found.append([cost, own, state])
    return found, [each.name for each in tvars]


@case
def word_vectors(tf):
    vocab, size = 11, 4
    inputs = tf.placeholder(tf.int32, shape=[6])
    context = tf.placeholder(tf.int32, shape=[6, 1])
    valid = tf.constant([1, 4, 7], dtype=tf.int32)
    with tf.device("/cpu:0"):
        embeddings = tf.Variable(const(vocab, size, seed=1))
        embed = tf.nn.embedding_lookup(embeddings, inputs)
    weights, biases = tf.Variable(const(size, vocab, seed=2)), tf.Variable(tf.zeros([vocab]))
    logits = tf.matmul(embed, weights) + biases
    loss = tf.reduce_mean(
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.one_hot(context[:, 0], vocab), logits=logits)
    )
    optimizer = tf.train.AdagradOptimizer(1.0).minimize(loss)
    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keep_dims=True))
    normalized = embeddings / norm
    similarity = tf.matmul(tf.nn.embedding_lookup(normalized, valid), normalized, transpose_b=True)
    _, nearest = tf.nn.top_k(similarity, 3)
    found = []
    with tf.Session() as sess:
        tf.global_variables_initializer().run()
        for step in range(4):
            feed = {inputs: labels_of(6, vocab, step), context: labels_of(6, vocab, step + 50).reshape(6, 1)}
            found.append(sess.run([optimizer, loss], feed_dict=feed)[1])
        found += [similarity.eval(), nearest.eval(), normalized.eval()]
    return found


@case
def autoencoder(tf):
    x = tf.placeholder(tf.float32, [None, 10])
    encoded = tf.layers.dense(
        x, 4, tf.nn.sigmoid, kernel_initializer=tf.constant_initializer(const(10, 4)), name="enc"
    )
    decoded = tf.layers.dense(
        encoded, 10, tf.sigmoid, kernel_initializer=tf.constant_initializer(const(4, 10)), name="dec"
    )
    loss = tf.losses.mean_squared_error(x, decoded)
    train_op = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            found.append(sess.run([loss, train_op], {x: numbers(6, 10, seed=step)})[0])
        found.append(sess.run(decoded, {encoded: numbers(2, 4, seed=7)}))
    return found


@case
def adversarial(tf):
    def generator(z):
        with tf.variable_scope("generator"):
            h = tf.layers.dense(
                z, 6, tf.nn.relu, kernel_initializer=tf.constant_initializer(const(3, 6)), name="h"
            )
            return tf.layers.dense(h, 2, kernel_initializer=tf.constant_initializer(const(6, 2)), name="out")

    def discriminator(x, reuse=False):
        with tf.variable_scope("discriminator", reuse=reuse):
            h = tf.layers.dense(
                x, 5, tf.nn.leaky_relu, kernel_initializer=tf.constant_initializer(const(2, 5)), name="h"
            )
            return tf.layers.dense(h, 1, kernel_initializer=tf.constant_initializer(const(5, 1)), name="out")

    z, x = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 2])
    sample = generator(z)
    real, fake = discriminator(x), discriminator(sample, reuse=True)
    cross = tf.nn.sigmoid_cross_entropy_with_logits
    d_loss = tf.reduce_mean(cross(logits=real, labels=tf.ones_like(real))) + tf.reduce_mean(
        cross(logits=fake, labels=tf.zeros_like(fake))
    )
    g_loss = tf.reduce_mean(cross(logits=fake, labels=tf.ones_like(fake)))
    g_vars = [each for each in tf.trainable_variables() if each.name.startswith("generator")]
    d_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="discriminator")
    d_step = tf.train.GradientDescentOptimizer(0.1).minimize(d_loss, var_list=d_vars)
    g_step = tf.train.MomentumOptimizer(0.1, 0.5).minimize(g_loss, var_list=g_vars)
    clip = [each.assign(tf.clip_by_value(each, -0.4, 0.4)) for each in d_vars]
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            feed = {z: numbers(5, 3, seed=step), x: numbers(5, 2, seed=step + 20)}
            _, d = sess.run([d_step, d_loss], feed)
            _, g = sess.run([g_step, g_loss], {z: feed[z]})
            sess.run(clip)
            found.append([d, g])
        found.append(sess.run(d_vars + g_vars))
    return found, [each.name for each in d_vars + g_vars]


@case
def deep_q(tf):
    def network(name, state):
        with tf.variable_scope(name):
            w = tf.get_variable("w", [4, 3], initializer=tf.constant_initializer(const(4, 3, seed=len(name))))
            b = tf.get_variable("b", [3], initializer=tf.zeros_initializer())
            return tf.matmul(state, w) + b

    state, next_state = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 4])
    action = tf.placeholder(tf.int32, [None])
    reward = tf.placeholder(tf.float32, [None])
    q_eval, q_next = network("eval_net", state), network("target", next_state)
    target = tf.stop_gradient(reward + 0.9 * tf.reduce_max(q_next, axis=1))
    indices = tf.stack([tf.range(tf.shape(action)[0], dtype=tf.int32), action], axis=1)
    chosen = tf.gather_nd(params=q_eval, indices=indices)
    loss = tf.reduce_mean(tf.squared_difference(target, chosen))
    train = tf.train.RMSPropOptimizer(0.01).minimize(loss)
    t_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="target")
    e_params = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES, scope="eval_net/[wb]$|eval_net/[wb]:")
    e_params = [each for each in tf.trainable_variables() if each.name.startswith("eval_net")]
    replace = [tf.assign(t, e) for t, e in zip(t_params, e_params, strict=True)]
    soft = tf.group(*[tf.assign(t, 0.9 * t + 0.1 * e) for t, e in zip(t_params, e_params, strict=True)])
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            if step == 2:
                sess.run(replace)
            feed = {
                state: numbers(5, 4, seed=step),
                next_state: numbers(5, 4, seed=step + 30),
                action: labels_of(5, 3, step),
                reward: numbers(5, seed=step + 60),
            }
            found.append(sess.run([train, loss], feed)[1])
            sess.run(soft)
        found.append(sess.run(t_params))
        found.append(sess.run(q_eval, {state: numbers(1, 4)}))
    return found, indices.shape.as_list(), chosen.shape.as_list()


@case
def policy_gradient(tf):
    observations = tf.placeholder(tf.float32, [None, 4], name="input_x")
    actions = tf.placeholder(tf.int32, [None], name="actions")
    values = tf.placeholder(tf.float32, [None, 1], name="values")
    layer = tf.layers.dense(
        observations, 5, tf.nn.tanh, kernel_initializer=tf.constant_initializer(const(4, 5))
    )
    logits = tf.layers.dense(layer, 2, kernel_initializer=tf.constant_initializer(const(5, 2)))
    chances = tf.nn.softmax(logits)
    log_chance = tf.reduce_sum(-tf.log(chances) * tf.one_hot(actions, 2), axis=1)
    loss = tf.reduce_mean(log_chance * values[:, 0])
    tvars = tf.trainable_variables()
    gradients = tf.gradients(loss, tvars)
    holders = [tf.placeholder(tf.float32, name=f"batch_grad{i}") for i in range(len(tvars))]
    adam = tf.train.GradientDescentOptimizer(learning_rate=0.05)
    update = adam.apply_gradients(zip(holders, tvars, strict=True))
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        buffers = [np.zeros_like(each) for each in sess.run(tvars)]
        for step in range(4):
            feed = {
                observations: numbers(6, 4, seed=step),
                actions: labels_of(6, 2, step),
                values: numbers(6, 1, seed=step + 40),
            }
            own, cost = sess.run([gradients, loss], feed)
            buffers = [a + b for a, b in zip(buffers, own, strict=True)]
            found.append(cost)
        sess.run(update, dict(zip(holders, buffers, strict=True)))
        found.append(sess.run(tvars))
    return found


@case
def matrix_factorisation(tf):
    users, items = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
    rates = tf.placeholder(tf.float32, [None])
    with tf.variable_scope("factors"):
        bias_global = tf.get_variable("bias_global", shape=[], initializer=tf.zeros_initializer())
        w_user = tf.get_variable("embd_user", [5, 3], initializer=tf.constant_initializer(const(5, 3)))
        w_item = tf.get_variable("embd_item", [6, 3], initializer=tf.constant_initializer(const(6, 3)))
    u, i = tf.nn.embedding_lookup(w_user, users, name="u"), tf.nn.embedding_lookup(w_item, items)
    infer = tf.add(tf.reduce_sum(tf.multiply(u, i), 1), bias_global, name="svd_inference")
    penalty = tf.add(tf.nn.l2_loss(u), tf.nn.l2_loss(i))
    cost = tf.add(tf.nn.l2_loss(tf.subtract(infer, rates)), 0.05 * penalty)
    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.FtrlOptimizer(0.1).minimize(cost, global_step=global_step)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(4):
            feed = {
                users: labels_of(7, 5, step),
                items: labels_of(7, 6, step + 1),
                rates: numbers(7, seed=step),
            }
            _, p, c, _g = sess.run([train_op, infer, cost, global_step], feed)
            found.append([p, c])
        found.append([sess.run(global_step), sess.run([w_user, w_item, bias_global])])
    return found, infer.name


@case
def k_means(tf):
    points = tf.constant(numbers(30, 2, seed=3))
    centroids = tf.Variable(tf.slice(points, [0, 0], [4, 2]))
    distances = tf.reduce_sum(
        tf.square(tf.subtract(tf.expand_dims(points, 0), tf.expand_dims(centroids, 1))), 2
    )
    assignments = tf.argmin(distances, 0)
    means = tf.stack(
        [
            tf.reduce_mean(tf.boolean_mask(points, tf.equal(assignments, c)), 0)
            if False
            else tf.divide(
                tf.reduce_sum(points * tf.cast(tf.expand_dims(tf.equal(assignments, c), 1), tf.float32), 0),
                tf.reduce_sum(tf.cast(tf.equal(assignments, c), tf.float32)),
            )
            for c in range(4)
        ]
    )
    update = tf.assign(centroids, means)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(5):
            _, _own, found = sess.run([update, centroids, assignments])
        return sess.run(centroids), found


def _optimizers(tf):
    train = tf.train
    return {
        "sgd": train.GradientDescentOptimizer(0.1),
        "momentum": train.MomentumOptimizer(0.1, 0.9),
        "nesterov": train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
        "adam": train.AdamOptimizer(0.1),
        "adagrad": train.AdagradOptimizer(0.1),
        "adadelta": train.AdadeltaOptimizer(0.1),
        "rmsprop": train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
        "ftrl": train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
        "proximal_sgd": train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.01),
        "proximal_adagrad": train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
        "adagrad_da": train.AdagradDAOptimizer(0.1, tf.train.get_or_create_global_step()),
    }


@case
def optimizers(tf):
    found = {}
    made = _optimizers(tf)
    losses = {}
    steps = {}
    for name, optimizer in made.items():
        w = tf.Variable(const(3, 2, seed=4), name=name)
        losses[name] = tf.reduce_sum(tf.square(tf.matmul(tf.constant(numbers(4, 3)), w)) - w[0, 0])
        steps[name] = optimizer.minimize(losses[name]), w
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for name, (step, w) in steps.items():
            for _ in range(4):
                sess.run(step)
            found[name] = sess.run([w, losses[name]])
        slots = {name: made[name].get_slot_names() for name in made}
    return found, slots, sorted(each.name for each in tf.global_variables())


@case
def decayed_rate(tf):
    step = tf.Variable(0, trainable=False, name="step")
    rates = [
        tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True),
        tf.train.polynomial_decay(0.1, step, 5, 0.01),
        tf.train.piecewise_constant(step, [1, 3], [1.0, 0.5, 0.1]),
        tf.train.inverse_time_decay(0.1, step, 2, 0.5),
        tf.train.natural_exp_decay(0.1, step, 2, 0.5),
        tf.train.cosine_decay(0.1, step, 5),
    ]
    w = tf.Variable([1.0, 2.0])
    loss = tf.reduce_sum(w * w)
    optimizer = tf.train.GradientDescentOptimizer(rates[0])
    train = optimizer.minimize(loss, global_step=step)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(4):
            sess.run(train)
            found.append(sess.run([*rates, step, w]))
    return found


@case
def counter_without_placeholders(tf):
    state = tf.Variable(0, name="counter")
    one = tf.constant(1)
    new_value = tf.add(state, one)
    update = tf.assign(state, new_value)
    found = []
    with tf.Session() as sess:
        sess.run(tf.initialize_all_variables())
        found.append(sess.run(state))
        for _ in range(3):
            found.append(sess.run(update))
            found.append(sess.run([state, new_value]))
    return found, update.dtype.base_dtype.name


@case
def control_dependencies(tf):
    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [])
    before = v * 10.0
    with tf.control_dependencies([tf.assign_add(v, x)]):
        after = tf.identity(v) * 10.0
        read = v.read_value()
        with tf.control_dependencies([v.assign_sub(0.5)]):
            last = tf.identity(v.read_value())
        op = tf.no_op(name="nothing")
    group = tf.group(op, tf.assign(v, v * 2.0), name="both") if False else tf.group(op, name="both")
    with tf.Session() as sess:
        sess.run(v.initializer)
        found = [
            sess.run(before),
            sess.run(after, {x: 2.0}),
            sess.run(read, {x: 1.0}),
            sess.run(last, {x: 1.0}),
        ]
        found += [sess.run(group, {x: 4.0}), sess.run(v)]
        found += [sess.run([before, last], {x: 1.0})]
    return found, op.name, group.name


@case
def moving_averages(tf):
    w = tf.Variable([1.0, 2.0], name="w")
    loss = tf.reduce_sum(tf.square(w))
    global_step = tf.Variable(0, trainable=False)
    ema = tf.train.ExponentialMovingAverage(0.9, global_step)
    train_step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=global_step)
    averages = ema.apply(tf.trainable_variables())
    with tf.control_dependencies([train_step, averages]):
        train_op = tf.no_op(name="train")
    averaged = ema.average(w)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train_step)
            sess.run(averages)
            found.append(sess.run([w, averaged, loss]))
        sess.run(train_op)
    return found, averaged.name, sorted(ema.variables_to_restore())


@case
def feeds_and_fetches(tf):
    a = tf.placeholder(tf.float32, [2], name="a")
    b = tf.add(a, 1.0, name="b")
    c = tf.multiply(b, 2.0, name="c")
    constant = tf.constant([5.0, 6.0], name="k")
    with tf.Session() as sess:
        return {
            "plain": sess.run(c, {a: [1, 2]}),
            "inner": sess.run(c, {b: [10, 20]}),
            "names": sess.run("c:0", {"a:0": [1, 2]}),
            "structure": sess.run({"x": [b, (c,)], "y": {"z": a}}, {a: [0.5, 1.5]}),
            "constant": sess.run(constant + a, {constant: [0, 0], a: [1, 1]}),
            "empty": sess.run([]),
            "same": sess.run([a, a], {a: [3, 4]}),
        }


@case
def names_and_scopes(tf):
    g = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.name_scope("outer"):
        a = tf.constant(1.0, name="a")
        with tf.name_scope("inner") as scope:
            b = tf.identity(x, name="b")
        with tf.name_scope("inner"):
            c = tf.identity(x, name="b")
        with tf.name_scope(scope):
            d = tf.identity(x, name="d")
        v = tf.Variable(1.0, name="v")
    with tf.variable_scope("scope"):
        w = tf.get_variable("w", [2])
        e = tf.identity(x, name="e")
    with tf.variable_scope("scope", reuse=True):
        w2 = tf.get_variable("w")
        f = tf.identity(x, name="e")
    with tf.variable_scope("auto", reuse=tf.AUTO_REUSE) as auto:
        h = tf.get_variable("h", initializer=tf.constant([1.0, 2.0]))
        h2 = tf.get_variable("h", [2])
    with tf.variable_scope(auto), tf.variable_scope("deep"):
        deep = tf.get_variable("d", [1], initializer=tf.ones_initializer())
    u1, u2 = tf.Variable(0.0), tf.Variable(0.0)
    dense = tf.layers.dense(x, 3)
    other = tf.layers.dense(x, 3)
    names = [each.name for each in (x, a, b, c, d, v, w, e, f, h, deep, u1, u2)]
    names += [each.name for each in tf.global_variables()]
    names += [tf.identity(x).name, tf.identity(x).name, (x + 1.0).name, (x * 2.0).name, tf.square(x).op.name]
    names += [dense.name, other.name]
    same = [w is w2 or w.name == w2.name, h.name == h2.name, g.get_tensor_by_name("outer/a:0") is a]
    same += [g.get_operation_by_name("outer/inner/b") is b.op, x.op.type]
    return names, same, [each.shape.as_list() for each in (x, dense, b)]


@case
def collections(tf):
    x = tf.placeholder(tf.float32, [3, 2])
    tf.add_to_collection("mine", x)
    with tf.variable_scope("s", regularizer=lambda w: 0.1 * tf.reduce_sum(tf.abs(w))):
        w = tf.get_variable("w", [2, 2], initializer=tf.constant_initializer(2.0))
    tf.losses.absolute_difference(tf.zeros([3, 2]), x)
    tf.add_to_collection("losses", tf.reduce_sum(w))
    total = tf.losses.get_total_loss()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = sess.run(
            [total, tf.get_collection("losses"), tf.losses.get_regularization_loss()], {x: numbers(3, 2)}
        )
    return (
        found,
        tf.get_collection("mine")[0] is x,
        len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)),
    )


@case
def second_derivatives(tf):
    x = tf.placeholder(tf.float32, [3])
    w = tf.Variable([1.0, -2.0, 0.5])
    y = tf.reduce_sum(tf.pow(x, 3) * w)
    (first,) = tf.gradients(y, x)
    (second,) = tf.gradients(first, [x])
    (by_w,) = tf.gradients(tf.reduce_sum(tf.square(first)), w)
    unconnected = tf.gradients(y, [tf.constant(1.0), w])
    scaled = tf.gradients([y, w], [w], grad_ys=[2.0, [1.0, 2.0, 3.0]])
    stopped = tf.gradients(x * tf.stop_gradient(x), x)
    c = tf.constant(3.0)
    (of_constant,) = tf.gradients(c * c * c, c)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: [1.0, 2.0, 3.0]}
        return (
            sess.run([y, first, second, by_w, scaled, stopped, of_constant], feed),
            unconnected[0] is None,
            sess.run(unconnected[1], feed),
        )


@case
def gradient_clipping(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.get_variable("w", initializer=const(3, 2))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    optimizer = tf.train.MomentumOptimizer(0.2, 0.5)
    pairs = optimizer.compute_gradients(loss)
    capped = [(tf.clip_by_value(g, -0.1, 0.1), v) for g, v in pairs if g is not None]
    train = optimizer.apply_gradients(capped)
    by_norm = tf.clip_by_norm(pairs[0][0], 0.3)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for step in range(3):
            sess.run(train, {x: numbers(4, 3, seed=step)})
        return sess.run([w, loss, by_norm, pairs[0][0]], {x: numbers(4, 3)}), pairs[0][0].shape.as_list()


@case
def metrics(tf):
    labels, predictions = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    chances = tf.placeholder(tf.float32, [None])
    accuracy, update = tf.metrics.accuracy(labels, predictions, name="acc")
    auc, update_auc = tf.metrics.auc(labels, chances)
    mean, update_mean = tf.metrics.mean(chances * 2.0)
    found = []
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for step in range(3):
            feed = {
                labels: labels_of(6, 2, step),
                predictions: labels_of(6, 2, step + 5),
                chances: np.abs(numbers(6, seed=step)) / 4,
            }
            found.append(sess.run([update, update_auc, update_mean], feed))
            found.append(sess.run([accuracy, auc, mean]))
        sess.run(tf.variables_initializer(tf.local_variables()))
        found.append(sess.run(accuracy))
    return found, sorted(each.name for each in tf.local_variables())


@case
def shapes(tf):
    x = tf.placeholder(tf.float32, [None, 784])
    y = tf.placeholder(tf.float32, [None, None])
    z = tf.placeholder(tf.float32)
    i = tf.placeholder(tf.int32, [None, 5])
    n = tf.placeholder(tf.int32, [])
    made = [
        tf.reshape(x, [-1, 28, 28, 1]),
        tf.matmul(x, tf.zeros([784, 10])),
        tf.matmul(y, tf.zeros([784, 10])),
        tf.concat([x, x], 1),
        tf.concat([x, x], 0),
        tf.shape(x),
        tf.reshape(x, [tf.shape(x)[0], 2, 392]),
        tf.transpose(y),
        tf.expand_dims(x, 1),
        tf.reduce_mean(x, 0),
        tf.reduce_sum(y, axis=[1], keepdims=True),
        x[:, 0],
        x[0],
        x[:, 10:20],
        x[3:7],
        y + tf.zeros([3]),
        tf.one_hot(i, 7),
        tf.nn.embedding_lookup(tf.zeros([9, 4]), i),
        tf.tile(x, [2, 1]),
        tf.zeros([n, 3]),
        tf.zeros_like(x),
        tf.range(10),
        tf.stack([x, x]),
        tf.split(x, 2, axis=1)[0],
        tf.squeeze(tf.zeros([1, 3, 1])),
        tf.reduce_mean(z),
        z * 2.0,
        tf.argmax(x, 1),
        tf.nn.top_k(x, 3)[0],
        tf.pad(x, [[0, 0], [1, 2]]),
        tf.where(x > 0, x, x),
        tf.image.resize_bilinear(tf.reshape(x, [-1, 28, 28, 1]), [14, 14]),
    ]
    fed = tf.placeholder(tf.float32)
    fed.set_shape([None, 3])
    made.append(fed)
    return [None if each.shape.ndims is None else each.shape.as_list() for each in made]


@case
def values_that_are_sizes(tf):
    n = tf.placeholder(tf.int32, [])
    x = tf.placeholder(tf.float32, [None, 3])
    cell = tf.nn.rnn_cell.BasicRNNCell(2)
    state = cell.zero_state(tf.shape(x)[0], tf.float32)
    made = tf.zeros([n, 2]) + 1.0
    tiled = tf.tile(x, [n, 1])
    parts = tf.reshape(tiled, [n, -1, 3])
    counted = tf.cast(tf.shape(parts)[1], tf.float32) * tf.reduce_sum(parts)
    with tf.Session() as sess:
        found = [sess.run([made, tiled, parts, counted], {n: k, x: numbers(2, 3)}) for k in (1, 2)]
        found.append(sess.run([state, tf.range(n), tf.fill([n], 7)], {n: 3, x: numbers(2, 3)}))
    return found


@case
def saved_and_restored(tf):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.ckpt")
        w, step = tf.Variable([1.0, 2.0], name="w"), tf.Variable(0, name="step", trainable=False)
        loss = tf.reduce_sum(tf.square(w))
        train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, global_step=step)
        saver = tf.train.Saver(max_to_keep=2)
        only = tf.train.Saver({"other": w})
        found = []
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(train)
                found.append(os.path.basename(saver.save(sess, path, global_step=step)))
            only.save(sess, os.path.join(folder, "only"), write_state=False)
            sess.run(train)
            found.append(sess.run(w))
        files = sorted(each.split(".meta")[0] for each in os.listdir(folder) if not each.endswith(".meta"))
        latest = tf.train.latest_checkpoint(folder)
        state = tf.train.get_checkpoint_state(folder)
        listed = sorted(tf.train.list_variables(latest))
        with tf.Session() as sess:
            saver.restore(sess, latest)
            found += [sess.run([w, step])]
            sess.run(train)
            found += [sess.run(w), len(saver.last_checkpoints)]
        names = os.path.basename(latest), os.path.basename(state.model_checkpoint_path)
        found += [
            names,
            len(state.all_model_checkpoint_paths),
            [[name, list(shape)] for name, shape in listed],
        ]
        with tf.Graph().as_default(), tf.Session() as sess:
            other = tf.get_variable("other", [2])
            tf.train.Saver().restore(sess, os.path.join(folder, "only"))
            found.append(sess.run(other))
        return found, files


@case
def decisions_and_loops(tf):
    x, n = tf.placeholder(tf.float32, [None], name="x"), tf.placeholder(tf.int32, [])
    v = tf.Variable(1.0)
    total = tf.cond(tf.reduce_sum(x) > 0, lambda: x * v, lambda: x - v)
    several = tf.case(
        [(n < 1, lambda: tf.constant(1.0)), (n < 3, lambda: v * 2.0)], default=lambda: tf.constant(7.0)
    )
    _, powers = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a * 2.0 + x), [tf.constant(0), tf.zeros_like(x)]
    )
    first, second = tf.while_loop(
        lambda a, b: b < 50, lambda a, b: (b, a + b), (tf.constant(0), tf.constant(1))
    )
    root = tf.while_loop(
        lambda r: tf.abs(r * r - 2.0) > 1e-6, lambda r: 0.5 * (r + 2.0 / r), [tf.constant(1.0)]
    )
    mapped = tf.map_fn(lambda e: e * e + v, x)
    scanned = tf.scan(lambda a, e: a + e, x)
    folded = tf.foldl(lambda a, e: a * 0.5 + e, x)
    (gradient,) = tf.gradients(tf.reduce_sum(total) + tf.reduce_sum(mapped) + tf.reduce_sum(scanned), x)
    (of_v,) = tf.gradients(tf.reduce_sum(total), v)
    write = tf.cond(n > 1, lambda: tf.assign(v, 5.0), lambda: tf.identity(v))
    everything = [total, several, powers, first, second, root, mapped, scanned, folded, gradient, of_v]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        found = [sess.run(everything, {x: numbers(3, seed=s) * s, n: s}) for s in (0, 1, 2, 4)]
        found += [sess.run(write, {n: 0}), sess.run(write, {n: 2}), sess.run(v)]
    return found, total.shape.as_list()


@case
def iterators(tf):
    data = tf.data
    found = []
    once = data.make_one_shot_iterator(data.Dataset.range(5).map(lambda e: e * 2).batch(2))
    element = once.get_next()
    features = tf.placeholder(tf.float32, [None, 2])
    labels = tf.placeholder(tf.int32, [None])
    rows = data.Dataset.from_tensor_slices({"x": features, "y": labels}).repeat(2).batch(3)
    fed = data.make_initializable_iterator(rows)
    batch = fed.get_next()
    w = tf.Variable([1.0, 2.0])
    score = tf.reduce_sum(batch["x"] * w, 1) + tf.cast(batch["y"], tf.float32)
    first, second = data.Dataset.range(3), data.Dataset.range(10, 12)
    either = data.Iterator.from_structure(data.get_output_types(first), data.get_output_shapes(first))
    number = either.get_next()
    starts = either.make_initializer(first), either.make_initializer(second)
    handle = tf.placeholder(tf.string, shape=[])
    chosen = data.Iterator.from_string_handle(
        handle, data.get_output_types(first), data.get_output_shapes(first)
    )
    squared = chosen.get_next() * 2
    own = data.make_one_shot_iterator(first.repeat()), data.make_initializable_iterator(second)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        while True:
            try:
                found.append(sess.run(element))
            except tf.errors.OutOfRangeError:
                break
        try:
            sess.run(batch)
        except tf.errors.FailedPreconditionError:
            found.append("not begun")
        for count in (4, 2):
            sess.run(fed.initializer, {features: numbers(count, 2), labels: labels_of(count, 5)})
            while True:
                try:
                    found.append(sess.run([score, batch]))
                except tf.errors.OutOfRangeError:
                    break
        for start in starts:
            sess.run(start)
            found.append([sess.run(number), sess.run(number + 1)])
        handles = sess.run([each.string_handle() for each in own])
        sess.run(own[1].initializer)
        found += [sess.run(squared, {handle: handles[i]}) for i in (0, 1, 0, 1)]
    return found, batch["x"].shape.as_list(), element.shape.as_list()


@case
def summaries(tf):
    x = tf.placeholder(tf.float32, [None])
    w = tf.Variable([1.0, 2.0], name="w")
    with tf.name_scope("train"):
        loss = tf.summary.scalar("loss", tf.reduce_mean(x))
    tf.summary.histogram("weights", w)
    tf.summary.scalar("plain", 3.0)
    merged = tf.summary.merge_all()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        text, alone = sess.run([merged, loss], {x: [1.0, 2.0, 3.0]})
    message = tf.Summary.FromString(text)
    return (
        [[each.tag, each.simple_value] for each in message.value],
        [each.histo.num for each in message.value],
        tf.Summary.FromString(alone).value[0].simple_value,
    )


@case
def text_and_tables(tf):
    words = tf.placeholder(tf.string, [None])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int32)), -1
    )
    ids = table.lookup(words)
    embedded = tf.nn.embedding_lookup(tf.constant(numbers(4, 2)), ids + 1)
    joined = tf.string_join([words, tf.constant("!")])
    n = tf.placeholder(tf.float32, [])
    shown = tf.as_string(tf.cast(n * 2.0, tf.int32))
    doubled = tf.py_func(lambda value: (value * 3).astype("float32"), [n], tf.float32)
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        feed = {words: ["b", "zz", "a"], n: 4.0}
        return sess.run([ids, embedded, joined, shown, doubled + 1.0], feed), words.dtype.name


@case
def monitored_training(tf):
    import tempfile

    class Noting(tf.train.SessionRunHook):
        def __init__(self, found):
            self.found = found

        def begin(self):
            self.step = tf.train.get_global_step()

        def after_create_session(self, session, coord):
            self.found.append(["begins", session.run(self.step)])

        def before_run(self, run_context):
            return tf.train.SessionRunArgs({"loss": loss, "w": w})

        def after_run(self, run_context, run_values):
            self.found.append(run_values.results["loss"])

        def end(self, session):
            self.found.append(["ends", session.run(self.step)])

    x = tf.placeholder(tf.float32, [None])
    w = tf.Variable(3.0, name="w")
    loss = tf.reduce_mean(tf.square(w * x - 1.0))
    tf.summary.scalar("loss", loss)
    step = tf.train.get_or_create_global_step()
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for last in (3, 5):
            hooks = [tf.train.StopAtStepHook(last_step=last), Noting(found), tf.train.NanTensorHook(loss)]
            with tf.train.MonitoredTrainingSession(
                checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=100, save_summaries_steps=None
            ) as sess:
                while not sess.should_stop():
                    _, at = sess.run([train, step], {x: [1.0, 2.0]})
                    found.append(None if at is None else 0)
            tf.get_default_graph()._unsafe_unfinalize() if hasattr(
                tf.get_default_graph(), "_unsafe_unfinalize"
            ) else None
        reader = tf.train.load_checkpoint(folder)
        found.append([float(reader.get_tensor("w")), int(reader.get_tensor("global_step"))])
    return found


@case
def monitored_without_folder(tf):
    numbers_ = tf.data.make_one_shot_iterator(tf.data.Dataset.range(4)).get_next()
    total = tf.Variable(0, dtype=tf.int64, name="total", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    add = tf.assign_add(total, numbers_)
    found = []
    with tf.train.SingularMonitoredSession() as sess:
        while not sess.should_stop():
            found.append(sess.run(add))
    return found


@case
def supervised(tf):
    import tempfile

    w = tf.Variable(1.0, name="w")
    step = tf.Variable(0, name="global_step", trainable=False)
    train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w - 3.0), global_step=step)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for last in (2, 4):
            sv = tf.train.Supervisor(logdir=folder, global_step=step, save_model_secs=0, summary_op=None)
            with sv.managed_session() as sess:
                while not sv.should_stop():
                    sess.run(train)
                    found.append(sess.run(w))
                    if sess.run(step) >= last:
                        sv.saver.save(sess, sv.save_path, global_step=step)
                        break
            tf.get_default_graph()._unsafe_unfinalize() if hasattr(
                tf.get_default_graph(), "_unsafe_unfinalize"
            ) else None
    return found


@case
def keras_layers_on_placeholders(tf):
    layers, backend = tf.keras.layers, tf.keras.backend
    inputs, classes = numbers(12, 6, seed=1), np.eye(3, dtype="float32")[labels_of(12, 3)]
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 3])
    first = layers.Dense(8, activation="relu", kernel_initializer=tf.constant_initializer(const(6, 8)))
    hidden = layers.Dropout(0.5)(first(x))
    last = layers.Dense(
        3, activation="softmax", kernel_initializer=tf.constant_initializer(const(8, 3, seed=2))
    )
    out = last(hidden)
    loss = tf.reduce_mean(tf.keras.losses.categorical_crossentropy(y, out))
    right = tf.reduce_mean(tf.keras.metrics.categorical_accuracy(y, out))
    penalty = 0.01 * tf.nn.l2_loss(first.kernel)
    train = tf.train.GradientDescentOptimizer(0.2).minimize(loss + penalty)
    found = [[variable.name for variable in tf.trainable_variables()], out.shape.as_list()]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            sess.run(train, {x: inputs, y: classes})
            found.append(sess.run([loss, right, penalty], {x: inputs, y: classes}))
        feed = {x: inputs, y: classes, backend.learning_phase(): 0}
        kept, feed[backend.learning_phase()] = sess.run(loss, feed), 1
        found.append([kept, bool(sess.run(loss, feed) != kept), sess.run(last.bias)])
    return found


@case
def keras_models_in_a_graph(tf):
    layers = tf.keras.layers
    inputs, classes = numbers(10, 4, seed=1), np.eye(3, dtype="float32")[labels_of(10, 3)]
    one = tf.keras.Sequential(
        [
            layers.Dense(
                5,
                activation="tanh",
                kernel_initializer=tf.constant_initializer(const(4, 5)),
                input_shape=(4,),
            ),
            layers.Dense(3, kernel_initializer=tf.constant_initializer(const(5, 3, seed=2))),
        ]
    )
    given, also = tf.keras.Input((4,)), tf.keras.Input((2,))
    joined = layers.concatenate([given, also])
    other = tf.keras.Model(
        [given, also], layers.Dense(2, kernel_initializer=tf.constant_initializer(const(6, 2)))(joined)
    )
    labels = tf.placeholder(tf.float32, [None, 3])
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=one.output))
    train = tf.train.AdamOptimizer(0.05).minimize(loss, var_list=one.trainable_weights)
    slope = tf.gradients(loss, one.input)[0]
    x, z = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.float32, [None, 2])
    again, sums = one(x), tf.reduce_sum(other([x, z]), 1)
    found = []
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            found.append(sess.run([loss, train], {one.input: inputs, labels: classes})[0])
        found.append(sess.run(slope, {one.input: inputs, labels: classes}))
        found.append(sess.run([one.output, one.layers[0].output], {one.input: inputs[:2]}))
        found.append(sess.run([again, sums], {x: inputs[:3], z: inputs[:3, :2]}))
        found.append(sess.run(other.output, {given: inputs[:2], also: inputs[:2, 2:]}))
    return found


@case
def layers_of_every_kind(tf):
    layers = tf.layers
    images, rows = numbers(4, 8, 8, 3, seed=1), numbers(4, 7, 3, seed=2)
    x, row = tf.placeholder(tf.float32, [None, 8, 8, 3]), tf.placeholder(tf.float32, [None, 7, 3])
    is_training, keep = tf.placeholder(tf.bool), tf.placeholder_with_default(0.0, [])
    starts = {"kernel_initializer": tf.constant_initializer(0.05), "activation": tf.nn.elu}
    net = layers.conv2d(x, 4, 3, padding="same", **starts)
    net = layers.batch_normalization(net, training=is_training, momentum=0.5)
    net = layers.max_pooling2d(net, 2, 2)
    net = layers.conv2d_transpose(net, 3, 2, strides=2, **starts)
    net = layers.separable_conv2d(
        net,
        2,
        3,
        depthwise_initializer=tf.constant_initializer(0.1),
        pointwise_initializer=tf.ones_initializer(),
    )
    net = layers.average_pooling2d(net, 2, 2)
    net = layers.dropout(layers.flatten(net), keep, training=is_training)
    line = layers.max_pooling1d(layers.conv1d(row, 2, 3, **starts), 2, 1)
    line = layers.average_pooling1d(line, 2, 1)
    cube = layers.conv3d(tf.expand_dims(x, 1), 2, (1, 3, 3), **starts)
    cube = layers.average_pooling3d(layers.max_pooling3d(cube, (1, 2, 2), 1), (1, 2, 2), 1)
    joined = tf.concat([net, layers.flatten(line), layers.flatten(cube)], 1)
    out = layers.dense(joined, 2, kernel_initializer=tf.constant_initializer(0.01))
    loss = tf.reduce_mean(tf.square(out))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    found = [out.shape.as_list(), joined.shape.as_list(), [each.name for each in tf.global_variables()]]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            sess.run(train, {x: images, row: rows, is_training: True})
            found.append(sess.run([loss, out], {x: images, row: rows, is_training: False}))
        found.append(sess.run("batch_normalization/moving_mean:0"))
    return found


@case
def layers_again_in_a_scope(tf):
    def tell(inputs, is_again=None):
        with tf.variable_scope("tell") as scope:
            if is_again:
                scope.reuse_variables()
            starts = tf.constant_initializer(0.1)
            hidden = tf.layers.dense(tf.concat([inputs, z], 1), 4, tf.nn.relu, kernel_initializer=starts)
            return tf.layers.dense(hidden, 1, kernel_initializer=starts)

    x, z = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 2])
    with tf.variable_scope("make"):
        made = tf.layers.dense(z, 3, kernel_initializer=tf.constant_initializer(0.3))
    true, false = tell(x), tell(made, True)
    loss = tf.reduce_mean(tf.square(true - 1.0) + tf.square(false))
    weights = {"all": tf.trainable_variables("tell")}
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=weights.values())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: numbers(5, 3, seed=1), z: numbers(5, 2, seed=2)}
        sess.run(train, feed)
        return [each.name for each in tf.trainable_variables()], sess.run([loss, true, false], feed)


@case
def matrices_of_no_known_shape(tf):
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    w, b = tf.Variable(const(2, 4)), tf.Variable(tf.zeros([4]))
    logits = tf.add(tf.matmul(x, w), b)
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=logits))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: numbers(6, 2, seed=1), y: np.eye(4)[labels_of(6, 4)]}
        sess.run(train, feed)
        return sess.run([loss, logits], feed)


@case
def cells_that_drop_by_a_placeholder(tf):
    cells, keep = tf.nn.rnn_cell, tf.placeholder_with_default(1.0, [])
    x = tf.placeholder(tf.float32, [None, 5, 3])
    initial = tf.constant_initializer(0.2)

    def make(size):
        cell = cells.LSTMCell(size, initializer=initial)
        return cells.DropoutWrapper(cell, output_keep_prob=keep)

    with tf.variable_scope("dynamic"):
        outputs, state = tf.nn.dynamic_rnn(cells.MultiRNNCell([make(4), make(3)]), x, dtype=tf.float32)
    with tf.variable_scope("static"):
        steps = tf.unstack(x, axis=1)
        cell = cells.GRUCell(2, kernel_initializer=initial, bias_initializer=initial)
        listed, last = tf.nn.static_rnn(cell, steps, dtype=tf.float32)
    with tf.variable_scope("both"):
        both, _ = tf.nn.bidirectional_dynamic_rnn(make(2), make(2), x, [5, 2, 3], dtype=tf.float32)
    table = tf.get_variable("table", [6, 3], initializer=initial)
    words = tf.nn.embedding_lookup(table, tf.placeholder_with_default([[0, 2, 1, 5, 3]] * 3, [3, 5]))
    loss = tf.reduce_sum(outputs[:, -1]) + tf.reduce_sum(words * x) + tf.reduce_sum(last)
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {x: numbers(3, 5, 3, seed=1)}
        found = [sess.run([outputs, state[0].c, listed[2], both[1]], feed)]
        sess.run(train, feed)
        found.append(
            [*sess.run([loss, table], feed), bool((sess.run(outputs, {**feed, keep: 0.5}) == 0).any())]
        )
    return found


@case
def batches_that_are_fed(tf):
    rows = tf.placeholder(tf.float32, [8, 2])
    dataset = tf.data.Dataset.from_tensor_slices(rows).batch(4).repeat(2)
    iterator = tf.data.make_initializable_iterator(dataset)
    batch = iterator.get_next()
    sums = tf.reduce_sum(tf.layers.dense(batch, 3, kernel_initializer=tf.ones_initializer()), 0)
    with tf.Session() as sess:
        sess.run([iterator.initializer, tf.global_variables_initializer()], {rows: numbers(8, 2)})
        return batch.shape.as_list(), sess.run(sums), sess.run(sums, {batch: numbers(3, 2, seed=1)})


@case
def lines_from_a_queue(tf):
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        names = [str(pathlib.Path(folder) / each) for each in ("a.csv", "b.csv")]
        pathlib.Path(names[0]).write_text("x,y,c\n1,2,0\n3,4,1\n5,6,2\n")
        pathlib.Path(names[1]).write_text("x,y,c\n7,8,3\n")
        queue = tf.train.string_input_producer(names, num_epochs=2, shuffle=False)
        key, line = tf.TextLineReader(skip_header_lines=1).read(queue)
        columns = tf.decode_csv(line, [[0.0], [0.0], [0]])
        x, y, keys = tf.train.batch([tf.stack(columns[:2]), columns[2], key], batch_size=3)
        out = tf.matmul(x, tf.Variable([[1.0], [2.0]]))
        found = [x.shape.as_list(), y.shape.as_list()]
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess=sess, coord=coord)
            try:
                while not coord.should_stop():
                    batch = sess.run([x, y, out, keys])
                    found.append([*batch[:3], [each.decode().rpartition("/")[2] for each in batch[3]]])
            except tf.errors.OutOfRangeError:
                found.append("end")
            finally:
                coord.request_stop()
            coord.join(threads)
    return found


@case
def records_from_a_queue(tf):
    import pathlib
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        name = str(pathlib.Path(folder) / "a.tfrecords")
        with tf.python_io.TFRecordWriter(name) as writer:
            for number in range(5):
                values = numbers(2, 3, seed=number)
                features = {
                    "values": tf.train.Feature(bytes_list=tf.train.BytesList(value=[values.tobytes()])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[number])),
                }
                writer.write(
                    tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
                )
        queue = tf.train.string_input_producer([name], num_epochs=1)
        _, record = tf.TFRecordReader().read(queue)
        kinds = {
            "values": tf.FixedLenFeature([], tf.string),
            "label": tf.FixedLenFeature([], tf.int64),
        }
        parsed = tf.parse_single_example(record, kinds)
        raw = tf.decode_raw(parsed["values"], tf.float32)
        values = tf.reshape(raw, [2, 3]) * 2.0
        batches = tf.train.batch(
            {"values": values, "label": parsed["label"]}, 2, allow_smaller_final_batch=True
        )
        shuffled = tf.train.shuffle_batch([values], 2, capacity=10, min_after_dequeue=4)
        found = [raw.shape.as_list(), batches["values"].shape.as_list(), shuffled.shape.as_list()]
        with tf.train.MonitoredSession() as sess:
            while not sess.should_stop():
                taken = sess.run(batches)
                found.append(taken["values"].shape[1:])
                assert set(taken) == {"values", "label"}
                break
    return found


@case
def queues_by_hand(tf):
    queue = tf.FIFOQueue(4, [tf.float32, tf.int32], shapes=[[2], []], names=["x", "n"])
    x, n = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    add_many = queue.enqueue_many({"x": x, "n": n})
    first = queue.dequeue()
    add = queue.enqueue({"x": first["x"] + 1.0, "n": first["n"] * 2})
    pair, rest, size, close = queue.dequeue_many(2), queue.dequeue_up_to(3), queue.size(), queue.close()
    padded = tf.PaddingFIFOQueue(3, tf.int32, shapes=[[None]])
    add_row, rows = padded.enqueue([tf.range(n[0])]), padded.dequeue_many(2)
    index = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    one, other = tf.train.slice_input_producer(
        [tf.constant([[1.0], [2.0]]), tf.constant([5, 6])], num_epochs=1, shuffle=False
    )
    found = [rest["x"].shape.as_list(), rows.shape.as_list()]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        tf.train.start_queue_runners(sess)
        sess.run(add_many, {x: numbers(3, 2), n: [1, 2, 3]})
        sess.run(add)
        found += [sess.run(size), sess.run(first)["n"], sess.run(pair)["n"], sess.run(size)]
        sess.run(add_many, {x: numbers(2, 2, seed=1), n: [4, 5]})
        sess.run(close)
        found.append(sess.run(rest))
        for length in (1, 3):
            sess.run(add_row, {n: [length]})
        found.append(sess.run(rows))
        for operation, feed in ((first, {}), (add_many, {x: numbers(1, 2), n: [1]})):
            try:
                sess.run(operation, feed)
            except (tf.errors.OutOfRangeError, tf.errors.CancelledError) as error:
                found.append(type(error).__name__)
        found.append([sess.run(index) for _ in range(3)])
        found.append([sess.run([one, other]) for _ in range(2)])
        try:
            sess.run(one)
        except tf.errors.OutOfRangeError:
            found.append("end")
    return found


@case
def hessians(tf):
    x, scale = tf.placeholder(tf.float32, [3]), tf.Variable([[1.0, 2.0]])
    y = tf.reduce_sum(x**3) * tf.reduce_sum(scale**2) + x[0] * x[1]
    found = tf.hessians(y, [x, scale])
    slopes = tf.gradients(tf.gradients(y, x)[0], x)[0]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run([*found, slopes], {x: [1.0, -2.0, 0.5]})


@contrib_case
def contrib_layers(tf):
    layers, slim = tf.contrib.layers, tf.contrib.slim
    images, classes = numbers(4, 6, 6, 2, seed=1), labels_of(4, 3)
    x, is_training = tf.placeholder(tf.float32, [None, 6, 6, 2]), tf.placeholder(tf.bool)
    y = tf.placeholder(tf.int32, [None])
    starts = tf.constant_initializer(0.1)
    defaults = {
        "weights_initializer": starts,
        "weights_regularizer": slim.l2_regularizer(0.01),
        "normalizer_fn": slim.batch_norm,
    }
    with slim.arg_scope([slim.batch_norm], is_training=is_training, decay=0.5, scale=True):  # noqa: SIM117
        with slim.arg_scope([slim.conv2d, slim.fully_connected], **defaults):
            net = slim.repeat(x, 2, slim.conv2d, 3, [3, 3], scope="block")
            net = slim.max_pool2d(net, [2, 2], scope="pool")
            net = slim.flatten(net)
            net = slim.fully_connected(net, 4)
    net = layers.layer_norm(slim.dropout(net, 1.0, is_training=is_training))
    logits = layers.fully_connected(net, 3, activation_fn=None, weights_initializer=starts)
    words = layers.embed_sequence(tf.expand_dims(y, 1), 5, 2, initializer=starts)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits) + tf.reduce_sum(words)
    total = tf.losses.get_total_loss()
    train = slim.learning.create_train_op(loss + total, tf.train.GradientDescentOptimizer(0.1))
    found = [sorted(each.name for each in tf.model_variables()), logits.shape.as_list()]
    with tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        for _ in range(2):
            sess.run(train, {x: images, y: classes, is_training: True})
            found.append(sess.run([loss, total, logits], {x: images, y: classes, is_training: False}))
        found.append(sess.run(slim.get_variables_by_name("block/block_1/BatchNorm/moving_mean")))
    return found


@contrib_case
def characters_one_by_one(tf):
    legacy, cells = tf.contrib.legacy_seq2seq, tf.contrib.rnn
    starts = tf.constant_initializer(0.1)
    x, y = tf.placeholder(tf.int32, [2, 3]), tf.placeholder(tf.int32, [2, 3])
    cell = cells.MultiRNNCell([cells.BasicLSTMCell(4) for _ in range(2)])
    begin = cell.zero_state(2, tf.float32)
    with tf.variable_scope("lm", initializer=starts):
        w, b = tf.get_variable("softmax_w", [4, 5]), tf.get_variable("softmax_b", [5])
        table = tf.get_variable("embedding", initializer=const(5, 4))
        steps = [tf.squeeze(each, [1]) for each in tf.split(tf.nn.embedding_lookup(table, x), 3, 1)]

        def again(previous, _):
            symbol = tf.stop_gradient(tf.argmax(tf.matmul(previous, w) + b, 1))
            return tf.nn.embedding_lookup(table, symbol)

        outputs, last = legacy.rnn_decoder(steps, begin, cell, scope="rnn")
        with tf.variable_scope(tf.get_variable_scope(), reuse=True):
            own, _ = legacy.rnn_decoder(steps, begin, cell, loop_function=again, scope="rnn")
    logits = tf.matmul(tf.reshape(tf.concat(outputs, 1), [-1, 4]), w) + b
    weights = [tf.ones([6])]
    each = legacy.sequence_loss_by_example([logits], [tf.reshape(y, [-1])], weights)
    whole = legacy.sequence_loss([logits], [tf.reshape(y, [-1])], weights)
    slopes, _ = tf.clip_by_global_norm(tf.gradients(tf.reduce_sum(each), tf.trainable_variables()), 5.0)
    train = tf.train.AdamOptimizer(0.05).apply_gradients(zip(slopes, tf.trainable_variables()))  # noqa: B905
    found = [[each.name for each in tf.trainable_variables()]]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        state = sess.run(begin)
        for _ in range(2):
            feed = {x: [[0, 1, 2], [3, 4, 0]], y: [[1, 2, 3], [4, 0, 1]]}
            for place, (c, h) in enumerate(begin):
                feed[c], feed[h] = state[place]
            loss, total, state, _ = sess.run([each, whole, last, train], feed)
            found.append([loss, total, state[1].h])
        found.append(sess.run(own, feed))
    return found


@contrib_case
def tags_of_sentences(tf):
    scores, tags = tf.placeholder(tf.float32, [None, 4, 3]), tf.placeholder(tf.int32, [None, 4])
    lengths = tf.placeholder(tf.int32, [None])
    with tf.variable_scope("crf", initializer=tf.constant_initializer(0.1)):
        likelihood, chances = tf.contrib.crf.crf_log_likelihood(scores, tags, lengths)
    best, best_score = tf.contrib.crf.crf_decode(scores, chances, lengths)
    loss = tf.contrib.seq2seq.sequence_loss(scores, tags, tf.sequence_mask(lengths, 4, dtype=tf.float32))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_mean(-likelihood) + loss)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        feed = {scores: numbers(2, 4, 3), tags: [[0, 1, 2, 1], [2, 2, 0, 0]], lengths: [4, 2]}
        found = sess.run([likelihood, loss, best, best_score], feed)
        sess.run(train, feed)
        return [*found, sess.run(chances)]
