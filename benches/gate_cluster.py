"""A Kubernetes API server with etcd, and nodes with GPUs in it, for `benches/gate.py`."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import socket
import ssl
import subprocess
import time


@contextlib.contextmanager
def start_cluster(home, programs):
    """A Kubernetes API server with etcd, for an administrator whose token is `admin`."""
    home = os.path.join(home, "cluster")
    os.mkdir(home)
    [store, peers, address] = [free_address() for _ in range(3)]
    key, tokens = os.path.join(home, "accounts.key"), os.path.join(home, "tokens.csv")
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
    with open(tokens, "w", encoding="utf-8") as output:
        output.write("admin,admin,admin,system:masters\n")
    etcd = ["etcd", "--data-dir", os.path.join(home, "etcd"), "--unsafe-no-fsync"]
    etcd += [f"--listen-client-urls=http://{store}", f"--advertise-client-urls=http://{store}", f"--listen-peer-urls=http://{peers}"]
    api = [os.path.join(programs, "kube-apiserver"), f"--etcd-servers=http://{store}", "--bind-address=127.0.0.1"]
    api += [f"--secure-port={address.split(':')[1]}", f"--cert-dir={home}", f"--token-auth-file={tokens}", "--authorization-mode=RBAC"]
    api += [f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}", "--service-cluster-ip-range=10.0.0.0/24"]
    api += ["--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen(command, **quiet) for command in (etcd, api)]
    try:
        cluster = Cluster(home, address)
        cluster.wait_until_ready()
        yield cluster
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Cluster:
    def __init__(self, home, address):
        self.address = address
        self.kubeconfig = os.path.join(home, "kubeconfig")
        cluster = {"server": f"https://{address}", "certificate-authority": os.path.join(home, "apiserver.crt")}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": "admin"}}],
            "contexts": [{"name": "admin", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "admin",
        }
        with open(self.kubeconfig, "w", encoding="utf-8") as output:
            json.dump(config, output)

    def connect(self):
        # It is on this machine, and its certificate is its own.
        return http.client.HTTPSConnection(self.address, timeout=10, context=ssl._create_unverified_context())

    def wait_until_ready(self):
        end = time.monotonic() + 180
        while time.monotonic() < end:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if send(self.connect(), "GET", "/readyz").status == 200:
                    return
            time.sleep(0.2)
        raise SystemExit("the API server does not start")

    def create_nodes(self, count, classes, connections=8):
        def create(first):
            connection = self.connect()
            for at in range(first, count, connections):
                answer = send(connection, "POST", "/api/v1/nodes", node(at, at % classes))
                assert answer.status == 201, answer.status

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(connections) as threads:
            list(threads.map(create, range(connections)))
        print(f"{count} nodes of {classes} classes created in {time.monotonic() - start:.0f} s")

    def change_driver(self, at, version):
        """Gives a node another driver, so that it is of another class."""
        patch = {"metadata": {"labels": {DRIVER: version}}}
        answer = send(self.connect(), "PATCH", f"/api/v1/nodes/node-{at}", patch, "application/merge-patch+json")
        assert answer.status == 200, answer.status


def send(connection, method, path, body=None, kind="application/json"):
    headers = {"Authorization": "Bearer admin", "Content-Type": kind}
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    answer.read()
    return answer


DRIVER = "nvidia.com/cuda.driver-version.full"


def driver(number):
    return f"570.{86 + number // 90}.{number % 90 + 10}"


def node(at, of_class):
    extended = {"cpu": "192", "memory": "2113430412Ki", "pods": "110", "ephemeral-storage": "27Ti", "nvidia.com/gpu": "8"}
    addresses = [{"type": "Hostname", "address": f"node-{at}"}, {"type": "InternalIP", "address": f"10.{at >> 8}.{at & 255}.1"}]
    images = [{"names": [f"registry.example/team/image@sha256:{number:064x}"], "sizeBytes": number} for number in range(20)]
    info = {name: "x" for name in ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion", "machineID")}
    info |= {"architecture": "amd64", "operatingSystem": "linux", "osImage": "Ubuntu 22.04.5 LTS", "systemUUID": f"{at}"}
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{at}", "labels": labels(at, of_class)},
        "spec": {"providerID": f"example://{at}", "taints": taints},
        "status": {"capacity": extended, "allocatable": extended, "addresses": addresses, "images": images, "nodeInfo": info},
    }


def labels(at, of_class):
    """As GPU feature discovery and node feature discovery label a node."""
    version = driver(of_class)
    major, minor, revision = version.split(".")
    found = {
        "kubernetes.io/hostname": f"node-{at}",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "gpu.h100.8",
        "topology.kubernetes.io/region": "eu-1",
        "topology.kubernetes.io/zone": f"eu-1{'abc'[at % 3]}",
        "example.com/pool": f"pool-{of_class}",
        DRIVER: version,
        "nvidia.com/cuda.driver-version.major": major,
        "nvidia.com/cuda.driver-version.minor": minor,
        "nvidia.com/cuda.driver-version.revision": revision,
        "nvidia.com/cuda.driver.major": major,
        "nvidia.com/cuda.driver.minor": minor,
        "nvidia.com/cuda.driver.rev": revision,
        "nvidia.com/cuda.runtime-version.full": "12.8",
        "nvidia.com/gfd.timestamp": str(1_700_000_000 + at),
        "nvidia.com/gpu.compute.major": "9",
        "nvidia.com/gpu.compute.minor": "0",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.family": "hopper",
        "nvidia.com/gpu.machine": "PowerEdge-XE9680",
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "true",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/mps.capable": "false",
        "nvidia.com/vgpu.present": "false",
    }
    parts = ["dcgm", "dcgm-exporter", "device-plugin", "driver", "container-toolkit", "gpu-feature-discovery", "mig-manager", "node-status-exporter"]
    found |= {f"nvidia.com/gpu.deploy.{part}": "true" for part in parts}
    features = ["AVX", "AVX2", "AVX512BW", "AVX512CD", "AVX512DQ", "AVX512F", "AVX512VL", "AMXBF16", "AMXINT8", "FMA3", "VMX", "SHA"]
    found |= {f"feature.node.kubernetes.io/cpu-cpuid.{feature}": "true" for feature in features}
    return found


def free_address():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"127.0.0.1:{server.getsockname()[1]}"
