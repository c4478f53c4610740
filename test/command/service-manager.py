"""Starts a program as systemd starts a service with a socket.

    service-manager.py ADDRESS NOTIFY_SOCKET PROGRAM...

Binds a free port of the address, and prints it with the id of the process, then what the program
says to the service manager. Ends as the program does.
"""

import os
import socket
import sys
import threading


def hear():
    """Prints what is said. Closes the file that comes with a barrier, for which the sender waits."""
    while True:
        said, files, _, _ = socket.recv_fds(notify, 4096, 1)
        print(said.decode(), flush=True)
        for file in files:
            os.close(file)


address, notify_path, *program = sys.argv[1:]
listening = socket.socket()
listening.bind((address, 0))
listening.listen()
notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(notify_path)
pid = os.fork()
if pid == 0:
    if listening.fileno() != 3:
        os.dup2(listening.fileno(), 3)
    os.set_inheritable(3, True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    own = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid()), "NOTIFY_SOCKET": notify_path}
    os.execvpe(program[0], program, {**os.environ, **own})
print(listening.getsockname()[1], pid, flush=True)
listening.close()
threading.Thread(target=hear, daemon=True).start()
_, status = os.waitpid(pid, 0)
os._exit(os.waitstatus_to_exitcode(status) & 255)
