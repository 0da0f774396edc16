"""Threads, locks and queues."""
import queue
import threading

jobs, results, lock = queue.Queue(), {}, threading.Lock()


def worker():
    while True:
        n = jobs.get()
        if n is None:
            return
        with lock:
            results[n] = n ** 2


threads = [threading.Thread(target=worker, name=f"worker-{i}") for i in range(3)]
for thread in threads:
    thread.start()
for n in range(10):
    jobs.put(n)
for _ in threads:
    jobs.put(None)
for thread in threads:
    thread.join()
print(sorted(results.items()))
done = threading.Event()
timer = threading.Thread(target=done.set)
timer.start()
print(done.wait(5), threading.current_thread() is threading.main_thread())
