# SPDX-License-Identifier: BSD-2-Clause
"""
The manifests of contrib/kubernetes: whether the API of Kubernetes takes them, what they allow, and that they
fit each other, the configuration and the image.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "live"))

from harness import need  # noqa: E402

yaml = pytest.importorskip("yaml", reason="no python3-yaml here")

TOP = Path(__file__).resolve().parents[2]
BPFTRUSS = os.path.join(os.environ.get("O", str(TOP / "build")), "bpftruss")
MANIFESTS = {path.stem: yaml.safe_load(path.read_text()) for path in (TOP / "contrib/kubernetes").glob("*.yaml")}
POD = MANIFESTS["daemonset"]["spec"]["template"]["spec"]
CONTAINER = POD["containers"][0]
NAME = {"app.kubernetes.io/name": "bpftruss"}

# What a PodMonitor of monitoring.coreos.com/v1 may have, as far as one has it: its schema is the operator's.
SELECTOR = {"name": str, "key": str}
PODMONITOR = {
    "apiVersion": str,
    "kind": str,
    "metadata": {"name": str, "namespace": str, "labels": dict},
    "spec": {
        "selector": {"matchLabels": dict},
        "podMetricsEndpoints": [{
            "port": str, "scheme": str, "interval": str, "path": str,
            "tlsConfig": {"serverName": str, "ca": {"secret": SELECTOR, "configMap": SELECTOR}},
            "authorization": {"type": str, "credentials": SELECTOR},
            "relabelings": [{"action": str, "regex": str, "sourceLabels": [str], "targetLabel": str}],
        }],
    },
}  # fmt: skip


def check(value, schema, where):
    """Refuses a member that the schema does not have, and a value of another type."""
    if isinstance(schema, dict):
        assert isinstance(value, dict), where
        for key, member in value.items():
            assert key in schema, "%s.%s" % (where, key)
            check(member, schema[key], "%s.%s" % (where, key))
    elif isinstance(schema, list):
        assert isinstance(value, list), where
        for i, member in enumerate(value):
            check(member, schema[0], "%s[%d]" % (where, i))
    else:
        assert isinstance(value, schema), where


def test_all_are_there():
    kinds = {"daemonset": "DaemonSet", "configmap": "ConfigMap", "service": "Service", "podmonitor": "PodMonitor"}
    assert {name: manifest["kind"] for name, manifest in MANIFESTS.items()} == kinds
    for manifest in MANIFESTS.values():
        assert manifest["metadata"]["namespace"] == "bpftruss" and manifest["metadata"]["labels"] == NAME


@pytest.mark.parametrize("name", ["daemonset", "configmap", "service"])
def test_the_api_takes_it(name):
    validate = pytest.importorskip("kubernetes_validate", reason="no kubernetes-validate here (pip install it)")
    validate.validate(MANIFESTS[name], validate.latest_version(), strict=True)
    # It would notice.
    wrong = MANIFESTS[name] | {"metadata": MANIFESTS[name]["metadata"] | {"lables": {}}}
    with pytest.raises(validate.ValidationError):
        validate.validate(wrong, validate.latest_version(), strict=True)


def test_the_operator_takes_it():
    check(MANIFESTS["podmonitor"], PODMONITOR, "podmonitor")
    with pytest.raises(AssertionError, match="spec.podMetricsEndpoint"):
        check({"spec": {"podMetricsEndpoint": []}}, PODMONITOR, "podmonitor")
    for rule in MANIFESTS["podmonitor"]["spec"]["podMetricsEndpoints"][0]["relabelings"]:
        assert rule.get("action", "replace") in ("replace", "labeldrop")
        re.compile(rule.get("regex", ""))


def test_it_may_do_no_more_than_it_needs():
    context = CONTAINER["securityContext"]
    assert context["capabilities"]["drop"] == ["ALL"]
    # As in the image's own command.
    command = (TOP / "packaging/Containerfile").read_text()
    assert set(context["capabilities"]["add"]) == set(re.search(r"--cap-add=(\S+)", command)[1].split(","))
    assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
    assert "privileged" not in context and context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert POD["hostPID"] and POD["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostIPC", "serviceAccountName"} & set(POD)
    assert POD["tolerations"] == [{"operator": "Exists"}]
    assert "memory" in CONTAINER["resources"]["limits"] and len(CONTAINER["resources"]["requests"]) == 2
    # Of the host, it writes to its own folder alone.
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in POD["volumes"] if "hostPath" in volume}
    mounts = {mount["name"]: mount for mount in CONTAINER["volumeMounts"]}
    writable = {paths[name] for name, mount in mounts.items() if name in paths and not mount.get("readOnly")}
    assert writable == {"/var/lib/bpftruss"}
    assert {volume["name"] for volume in POD["volumes"]} == set(mounts)


def test_they_fit_each_other():
    template = MANIFESTS["daemonset"]["spec"]["template"]
    endpoint = MANIFESTS["podmonitor"]["spec"]["podMetricsEndpoints"][0]
    for selector in (MANIFESTS["daemonset"]["spec"]["selector"]["matchLabels"],
                     MANIFESTS["service"]["spec"]["selector"],
                     MANIFESTS["podmonitor"]["spec"]["selector"]["matchLabels"]):  # fmt: skip
        assert selector == template["metadata"]["labels"] == NAME
    port = CONTAINER["ports"][0]
    assert endpoint["port"] == port["name"] == MANIFESTS["service"]["spec"]["ports"][0]["targetPort"]
    volumes = {volume["name"]: volume for volume in POD["volumes"]}
    assert volumes["config"]["configMap"]["name"] == MANIFESTS["configmap"]["metadata"]["name"]
    secret = volumes["secret"]["secret"]
    assert secret["secretName"] == endpoint["authorization"]["credentials"]["name"]
    # A mode that the daemon accepts for a key.
    assert secret["defaultMode"] & 0o027 == 0
    version = re.search(r"^VERSION := (\S+)", (TOP / "Makefile").read_text(), re.M)[1]
    assert CONTAINER["image"].endswith("/bpftruss:" + version)


def test_the_daemon_takes_the_configuration(tmp_path):
    text = MANIFESTS["configmap"]["data"]["bpftruss.conf"]
    assert "listen = 0.0.0.0:%d\n" % CONTAINER["ports"][0]["containerPort"] in text
    mount = next(mount["mountPath"] for mount in CONTAINER["volumeMounts"] if mount["name"] == "secret")
    subprocess.run(
        [need("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=bpftruss", "-keyout", tmp_path / "tls.key", "-out", tmp_path / "tls.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    (tmp_path / "token").write_text("secret\n")
    for name in ("tls.key", "token"):
        (tmp_path / name).chmod(0o400)
    assert len(re.findall(re.escape(mount) + "/", text)) == 3
    config = tmp_path / "bpftruss.conf"
    config.write_text(text.replace(mount, str(tmp_path)))
    argv = [BPFTRUSS, "daemon", "--check-config", "--config", config]
    result = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    # The same command line as in the image.
    assert CONTAINER["args"] == ["daemon", "--group", "root"]
    assert 'CMD ["daemon", "--group", "root"]' in (TOP / "packaging/Containerfile").read_text()
