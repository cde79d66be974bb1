# SPDX-License-Identifier: Apache-2.0
"""The loop over a graph of TensorFlow 1 with queue runners."""


def batches(tf, fetch, threads):
    """Runs `fetch` of the present graph until its queues are at their end; tf is tensorflow.compat.v1."""
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=max(2, threads))
    with tf.Session(config=config) as session:
        session.run([tf.local_variables_initializer(), tf.global_variables_initializer()])
        coordinator = tf.train.Coordinator()
        runners = tf.train.start_queue_runners(session, coordinator)
        step = session.make_callable(fetch)
        try:
            while True:
                yield step()
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coordinator.request_stop()
            coordinator.join(runners, stop_grace_period_secs=5, ignore_live_threads=True)
