"""Signals that arrive while tune() works: what their handlers raise comes out of tune()."""

import os
import signal
import threading
import time
import unittest

import arrays

storage = arrays.use_temporary_storage()
os.environ["AUTOTUNE_LIBCUDA"] = "/nonexistent/libcuda.so.1"

import autotune  # noqa: E402: it must see the storage


def tune(**others):
    return autotune.tune([(31, 32, 33)], device="cpu", fresh=True, **{"seconds": 20, **others})


def send_after(seconds, number):
    threading.Timer(seconds, signal.pthread_kill, (threading.main_thread().ident, number)).start()


class Alarm(Exception):
    pass


def raise_alarm(*_):
    raise Alarm


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGALRM, signal.getsignal(signal.SIGALRM))
        tune(trials=1)  # what a first call does is not what is interrupted

    def test_what_a_handler_raises_at_any_time(self):
        signal.signal(signal.SIGALRM, raise_alarm)
        for progress in (None, lambda *_: None):
            for attempt in range(8):
                for number, kind in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGALRM, Alarm)):
                    with self.subTest(attempt=attempt, number=number):
                        with self.assertRaises(kind):
                            send_after(0.03 * attempt, number)
                            tune(progress=progress)
        self.assertIs(signal.getsignal(signal.SIGALRM), raise_alarm)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_handler_that_raises_nothing(self):
        calls = []
        signal.signal(signal.SIGALRM, lambda *_: calls.append(None))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        self.assertEqual(tune(trials=3)["measured"], 3)
        self.assertTrue(calls)

    def test_the_progress_function_is_interrupted_at_once(self):
        began = []

        def progress(*_):
            began.append(threading.current_thread())
            send_after(0.1, signal.SIGINT)
            time.sleep(100)

        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            tune(progress=progress)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(began, [threading.main_thread()])

    def test_a_handler_that_the_progress_function_sets_stays(self):
        tune(trials=1, progress=lambda *_: signal.signal(signal.SIGALRM, raise_alarm))
        self.assertIs(signal.getsignal(signal.SIGALRM), raise_alarm)

    def test_another_thread(self):
        done = []
        thread = threading.Thread(target=lambda: done.append(tune(trials=2)["measured"]))
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            send_after(0, signal.SIGINT)
            thread.join()
        thread.join()
        self.assertEqual(done, [2])


if __name__ == "__main__":
    unittest.main()
