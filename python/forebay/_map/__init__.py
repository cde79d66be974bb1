# SPDX-License-Identifier: Apache-2.0
"""`map`: functions of the program between the delivery of a batch and the user's loop. No engine thread runs them.

    run.next ─► Source ─► stage of the first map ─► stage of the second map ─► Loader.__next__
                          │ InlineStage: calls the function on the consumer's thread
                          │ PooledStage: keeps workers + 2 batches out
                          └─► Pool: a queue and one thread for each worker
                                 │ inside="threads": the thread calls the function
                                 └ inside="processes": the thread owns a process (forebay._worker) and waits for it

call.py         one `map`: how its function is called, rows stacked, results checked. Runs in threads and in processes.
stages.py       order, errors in order, restart. Runs on the consumer's thread; safe against Ctrl-C at any place.
pool.py         the threads, their queue, and `close`.
processes.py    the parent's side of a process: start, send, receive, death.
wire.py         batches and results as raw memory.
"""
