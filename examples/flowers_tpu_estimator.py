"""A TPUEstimator that learns photographs of flowers, from the article "How to write a custom Estimator for Cloud TPU".

Run it with: python examples/flowers_tpu_estimator.py --use_tpu --data flowers --output_dir out
Where `flowers` has the folders train/<class> and val/<class>. Their photographs are converted to records first, with
--beam by a pipeline of Apache Beam. A second run goes on where the first has ended. Without --use_tpu it runs on one
device.
"""

# The lines are those of the original, so its layout and style stay: see docs/programs/.
# fmt: off
# ruff: noqa: SIM905, I001
import functools
import os
import time

import stratax.tf as tf
from stratax.estimator import load_global_step_from_checkpoint_dir

import command_line
import example_data

# The article shows parts of a program. What it leaves out or describes in words is written out between them.
tf.flags.DEFINE_bool("use_tpu", False, "Whether to train on a TPU.")
tf.flags.DEFINE_string("tpu", None, "The TPU's name.")
tf.flags.DEFINE_string("tpu_zone", None, "The TPU's zone.")
tf.flags.DEFINE_string("project", None, "The TPU's project.")
tf.flags.DEFINE_string("train_data_path", None, "A pattern of TFRecord files with photographs to learn from.")
tf.flags.DEFINE_string("eval_data_path", None, "A pattern of TFRecord files with photographs to be tested with.")
tf.flags.DEFINE_string("output_dir", None, "Where checkpoints and summaries are.")
tf.flags.DEFINE_bool("transpose", False, "Whether the batch is the last dimension of an input.")
tf.flags.DEFINE_integer("train_batch_size", 40, "Photographs in a step, on all cores.")
tf.flags.DEFINE_integer("train_steps", 200, "The step at which the training ends.")
tf.flags.DEFINE_integer("num_train_images", 200, "How many photographs there are to learn from.")
tf.flags.DEFINE_integer("num_eval_images", 40, "How many photographs there are to be tested with.")
tf.flags.DEFINE_float("learning_rate", 0.002, "The learning rate.")
tf.flags.DEFINE_integer("steps_per_eval", 1000, command_line.help_of("steps_per_eval"))
tf.flags.DEFINE_string("data", None, command_line.help_of("data"))
tf.flags.DEFINE_string("records", None, command_line.help_of("records"))
tf.flags.DEFINE_bool("beam", False, command_line.help_of("beam"))
tf.flags.DEFINE_string("simulate", None, command_line.help_of("simulate"))
FLAGS = tf.flags.FLAGS

HEIGHT, WIDTH = 64, 64
NUM_CHANNELS = 3
LIST_OF_LABELS = "daisy,dandelion,roses,sunflowers,tulips".split(",")


def make_input_fn(pattern, mode, num_cores=8, transpose_input=False):
  def _set_shapes(batch_size, images, labels):
    """Statically set the batch_size dimension."""
    if transpose_input:
      images.set_shape(images.get_shape().merge_with(
          tf.TensorShape([None, None, None, batch_size])))
      labels.set_shape(labels.get_shape().merge_with(
          tf.TensorShape([batch_size])))
    else:
      images.set_shape(images.get_shape().merge_with(
          tf.TensorShape([batch_size, None, None, None])))
      labels.set_shape(labels.get_shape().merge_with(
          tf.TensorShape([batch_size])))
    return images, labels

  # What follows is described in words: files are read in parallel and interleaved, records shuffled and repeated
  # without an end, eight batches made at a time, transposed if need be, given their static shape, and prefetched.
  def input_fn(params):
    batch_size = params["batch_size"]
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    dataset = tf.data.Dataset.list_files(pattern, shuffle=is_training)
    dataset = dataset.apply(tf.contrib.data.parallel_interleave(
        lambda filename: tf.data.TFRecordDataset(filename, buffer_size=8 * 1024 * 1024),
        cycle_length=4, sloppy=True))
    if is_training:
      dataset = dataset.apply(tf.contrib.data.shuffle_and_repeat(1024))
    dataset = dataset.apply(tf.contrib.data.map_and_batch(
        read_and_preprocess, batch_size, num_parallel_batches=num_cores, drop_remainder=True))
    if transpose_input:
      dataset = dataset.map(
          lambda images, labels: (tf.transpose(images, [1, 2, 3, 0]), labels), num_parallel_calls=num_cores)
    dataset = dataset.map(functools.partial(_set_shapes, batch_size))
    return dataset.prefetch(tf.contrib.data.AUTOTUNE)

  return input_fn


def read_and_preprocess(example_data):
  parsed = tf.parse_single_example(example_data, {
      'image/encoded': tf.FixedLenFeature((), tf.string, ''),
      'image/class/label': tf.FixedLenFeature([], tf.int64, 1),
  })
  image_bytes = tf.reshape(parsed['image/encoded'], shape=[])
  label = tf.cast(
      tf.reshape(parsed['image/class/label'], shape=[]), dtype=tf.int32) - 1

  # end up with pixel values that are in the -1, 1 range
  image = tf.image.decode_jpeg(image_bytes, channels=NUM_CHANNELS)
  image = tf.image.convert_image_dtype(image, dtype=tf.float32) # 0-1
  image = tf.expand_dims(image, 0) # resize_bilinear needs batches

  image = tf.image.resize_bilinear(
      image, [HEIGHT + 10, WIDTH + 10], align_corners=False)
  image = tf.squeeze(image)  # remove batch dimension
  image = tf.random_crop(image, [HEIGHT, WIDTH, NUM_CHANNELS])
  image = tf.image.random_flip_left_right(image)
  image = tf.image.random_brightness(image, max_delta=63.0 / 255.0)
  image = tf.image.random_contrast(image, lower=0.2, upper=1.8)


  #pixel values are in range [0,1], convert to [-1,1]
  image = tf.subtract(image, 0.5)
  image = tf.multiply(image, 2.0)
  return image, label


def serving_input_fn():
  # Note: only handles one image at a time
  feature_placeholders = {'image_bytes':
                          tf.placeholder(tf.string, shape=())}
  image, _ = read_and_preprocess(
      tf.squeeze(feature_placeholders['image_bytes']))
  features = {
      'image': tf.expand_dims(image, 0)
  }
  return tf.estimator.export.ServingInputReceiver(features, feature_placeholders)


# The article leaves out the network: "usual TensorFlow code that uses tf.layers".
def cnn_model(image, mode, params):
  if params["transpose"]:
    image = tf.transpose(image, [3, 0, 1, 2])
  for filters in (16, 32, 64):
    image = tf.layers.conv2d(image, filters, kernel_size=3, strides=2, activation=tf.nn.relu)
  pooled = tf.reduce_mean(image, axis=[1, 2])
  nclasses = len(LIST_OF_LABELS)
  return tf.layers.dense(pooled, nclasses), nclasses


def image_classifier(features, labels, mode, params):
  image = features
  if isinstance(features, dict):
    image = features['image']

  ylogits, nclasses = cnn_model(image, mode, params)

  probabilities = tf.nn.softmax(ylogits)
  class_int = tf.cast(tf.argmax(probabilities, 1), tf.int32)
  class_str = tf.gather(LIST_OF_LABELS, class_int)

  if mode == tf.estimator.ModeKeys.TRAIN or mode == tf.estimator.ModeKeys.EVAL:
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(
        logits=ylogits, labels=tf.one_hot(labels, nclasses)))

    def metric_fn(class_int, labels):
      return {'accuracy': tf.metrics.accuracy(class_int, labels)}
    evalmetrics = (metric_fn, [class_int, labels])

    if mode == tf.estimator.ModeKeys.TRAIN:
      # this is needed for batch normalization, but has no effect otherwise
      update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
      optimizer = tf.train.AdamOptimizer(learning_rate=params['learning_rate'])
      if params['use_tpu']:
        optimizer = tf.contrib.tpu.CrossShardOptimizer(optimizer) # TPU change 1
      with tf.control_dependencies(update_ops):
        train_op = optimizer.minimize(loss, tf.train.get_global_step())
    else:
      train_op = None
  else:
    loss = None
    train_op = None
    evalmetrics = None

  return tf.contrib.tpu.TPUEstimatorSpec(  # TPU change 2
      mode=mode,
      predictions={"probabilities": probabilities,
                   "classid": class_int, "class": class_str},
      loss=loss,
      train_op=train_op,
      eval_metrics=evalmetrics,
      export_outputs={'classes': tf.estimator.export.PredictOutput(
          {"probabilities": probabilities, "classid": class_int,
           "class": class_str})}
  )


def train_and_evaluate(output_dir, hparams):
  STEPS_PER_EVAL = FLAGS.steps_per_eval
  train_input_fn = make_input_fn(
      hparams['train_data_path'], tf.estimator.ModeKeys.TRAIN, transpose_input=hparams['transpose'])
  eval_input_fn = make_input_fn(
      hparams['eval_data_path'], tf.estimator.ModeKeys.EVAL, transpose_input=hparams['transpose'])
  max_steps = hparams['train_steps']
  eval_batch_size = min(1024, hparams['num_eval_images'])
  eval_batch_size = eval_batch_size - eval_batch_size % 8  # divisible by num_cores
  tf.logging.info('train_batch_size=%d  eval_batch_size=%d  max_steps=%d',
                  hparams['train_batch_size'],
                  eval_batch_size,
                  max_steps)

  # TPU change 3
  if hparams['use_tpu']:
    tpu_cluster_resolver = tf.contrib.cluster_resolver.TPUClusterResolver(
        hparams['tpu'],
        zone=hparams['tpu_zone'],
        project=hparams['project'])
    config = tf.contrib.tpu.RunConfig(
        cluster=tpu_cluster_resolver,
        model_dir=output_dir,
        save_checkpoints_steps=STEPS_PER_EVAL,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=STEPS_PER_EVAL,
            per_host_input_for_training=True))
  else:
    config = tf.contrib.tpu.RunConfig()

  estimator = tf.contrib.tpu.TPUEstimator(  # TPU change 4
      model_fn=image_classifier,
      config=config,
      params=hparams,
      model_dir=output_dir,
      train_batch_size=hparams['train_batch_size'],
      eval_batch_size=eval_batch_size,
      use_tpu=hparams['use_tpu']
  )

  # load last checkpoint and start from there
  current_step = load_global_step_from_checkpoint_dir(output_dir)
  steps_per_epoch = hparams['num_train_images'] // hparams['train_batch_size']
  tf.logging.info('Training for %d steps (%.2f epochs in total). Current'
                  ' step %d.',
                  max_steps,
                  max_steps / steps_per_epoch,
                  current_step)

  start_timestamp = time.time()  # This time will include compilation time

  while current_step < hparams['train_steps']:
    # Train for up to steps_per_eval number of steps.
    # At the end of training, a checkpoint will be written to --model_dir.
    next_checkpoint = min(current_step + STEPS_PER_EVAL, max_steps)
    estimator.train(input_fn=train_input_fn, max_steps=next_checkpoint)
    current_step = next_checkpoint
    tf.logging.info('Finished training up to step %d. Elapsed seconds %d.',
                    next_checkpoint, int(time.time() - start_timestamp))

    # Evaluate the model on the most recent model in --model_dir.
    # Since evaluation happens in batches of --eval_batch_size, some images
    # may be excluded modulo the batch size. As long as the batch size is
    # consistent, the evaluated images are also consistent.
    tf.logging.info('Starting to evaluate at step %d', next_checkpoint)
    eval_results = estimator.evaluate(
        input_fn=eval_input_fn,
        steps=hparams['num_eval_images'] // eval_batch_size)
    tf.logging.info('Eval results at step %d: %s', next_checkpoint, eval_results)

  elapsed_time = int(time.time() - start_timestamp)
  tf.logging.info('Finished training up to step %d. Elapsed seconds %d.',
                  max_steps, elapsed_time)

  # export similar to Cloud ML Engine / TF Serving convention
  tf.logging.info('Starting to export model.')
  estimator.export_savedmodel(
      export_dir_base=os.path.join(output_dir, 'export/exporter'),
      serving_input_receiver_fn=serving_input_fn)


def main(unused_argv):
  command_line.simulate(FLAGS.simulate, "tpu" if FLAGS.use_tpu else "one")
  LIST_OF_LABELS[:] = example_data.use_photographs(FLAGS)
  tf.logging.set_verbosity(tf.logging.INFO)
  train_and_evaluate(FLAGS.output_dir, FLAGS.flag_values_dict())


if __name__ == "__main__":
  tf.app.run()
