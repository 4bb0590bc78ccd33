"""Docker and a registry for this run, on loopback, with data in a directory that is deleted."""

import contextlib
import os
import shutil
import socket
import subprocess
import time


@contextlib.contextmanager
def engine(directory):
    """Starts dockerd; returns the addresses of its socket and of its port. Through the port, it does not look local."""
    os.makedirs(directory)
    path, port = os.path.join(directory, "socket"), free_port()
    server = start(
        ["dockerd", "--iptables=false", "--bridge=none", "--tls=false", f"--data-root={directory}/data",
         f"--exec-root={directory}/exec", f"--pidfile={directory}/pid", f"--host=unix://{path}", f"--host=tcp://127.0.0.1:{port}"],
        directory, lambda: os.path.exists(path) and answers(port),
    )
    try:
        yield f"unix://{path}", f"tcp://127.0.0.1:{port}"
    finally:
        stop(server)
        subprocess.run(["umount", "--quiet", "--recursive", f"{directory}/data"], check=False)
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def registry(directory):
    """Starts docker-registry; gives its host and port."""
    os.makedirs(directory)
    port = free_port()
    configuration = os.path.join(directory, "registry.yml")
    with open(configuration, "w", encoding="utf-8") as file:
        file.write(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {directory}/data}}}}\n"
            f"http: {{addr: '127.0.0.1:{port}'}}\n"
        )
    server = start(["docker-registry", "serve", configuration], directory, lambda: answers(port))
    try:
        yield f"127.0.0.1:{port}"
    finally:
        stop(server)
        shutil.rmtree(directory, ignore_errors=True)


def start(command, directory, ready):
    with open(os.path.join(directory, "log"), "wb") as log:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(300):
        if ready():
            return server
        if server.poll() is not None:
            break
        time.sleep(0.1)
    with open(os.path.join(directory, "log"), encoding="utf-8", errors="replace") as log:
        raise SystemExit(f"{command[0]} did not start:\n{log.read()[-2000:]}")


def stop(server):
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(30)
    server.kill()


def answers(port):
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def free_port():
    with contextlib.closing(socket.socket()) as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]
