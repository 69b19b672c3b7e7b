#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""monitoring.py: runs the recipes of docs/monitoring.md with the real programs, where these are installed."""
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lint"))
import tap  # noqa: E402

GPUPROBE = os.path.join(tap.BUILD, "gpuprobe")


def recipes(tool):
    """Returns the indented blocks of the tool's section, each by the text before it."""
    with open(os.path.join(tap.TOP, "docs/monitoring.md"), encoding="utf-8") as f:
        text = f.read().split(f"\n## {tool}\n", 1)[1].split("\n## ", 1)[0]
    blocks, prose, inside = {}, "", False
    for line in text.splitlines():
        if line.startswith("    "):
            inside = True
            blocks[prose] = blocks.get(prose, "") + line[4:] + "\n"
        elif line:
            prose = line if inside else f"{prose} {line}"
            inside = False
    return blocks


def recipe(blocks, word):
    found = [b for prose, b in blocks.items() if word in prose]
    if len(found) != 1:
        raise KeyError(f"{len(found)} recipes for {word}")
    return found[0]


def run(*cmd, **kw):
    return subprocess.run(cmd, stdin=kw.pop("stdin", subprocess.DEVNULL), capture_output=True, text=True, timeout=120, check=False, **kw)


def host(directory, fixture):
    """Makes a directory for PATH in which gpuprobe reads that captured host."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, "gpuprobe")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nexec {GPUPROBE} --root {tap.FIXTURES}/{fixture}.host "$@"\n')
    os.chmod(path, 0o755)
    return {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}


def script(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def have(name, *programs):
    """Returns true if all programs are installed. Otherwise skips the rule with the reason."""
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        tap.skip(name, f"no {missing[0]} here")
    return not missing


# ---- Prometheus ------------------------------------------------------------------------------------------------------


def metrics():
    name = "promtool accepts the metrics of every captured host"
    if not have(name, "promtool"):
        return
    bad = []
    for path in sorted(glob.glob(f"{tap.FIXTURES}/*.host")):
        out = run(GPUPROBE, "-f", "openmetrics", "--root", path).stdout
        done = subprocess.run(["promtool", "check", "metrics"], input=out, capture_output=True, text=True, check=False)
        if done.returncode:
            bad += [f"{os.path.basename(path)}: {done.stderr.strip()[:200]}"]
    tap.rule(name, bad)


def rules(scratch, blocks):
    name = "Prometheus accepts the rules, and they fire only for a critical host"
    if not have(name, "promtool"):
        return
    with open(f"{scratch}/gpuprobe.rules.yml", "w", encoding="utf-8") as f:
        f.write(recipe(blocks, "gpuprobe.rules.yml"))
    series = []
    for instance, fixture in (("sick", "driver-mismatch"), ("well", "server-8gpu")):
        for line in run(GPUPROBE, "-f", "openmetrics", "--root", f"{tap.FIXTURES}/{fixture}.host").stdout.splitlines():
            m = re.fullmatch(r"(gpuprobe_exit_code|gpuprobe_cause)(?:\{(.*)\})? (\S+)", line)
            if m:
                labels = ",".join(x for x in (m[2], f'instance="{instance}"') if x)
                series.append({"series": f"{m[1]}{{{labels}}}", "values": f"{m[3]}x10"})
    test = {"rule_files": ["gpuprobe.rules.yml"], "evaluation_interval": "1m", "tests": [
        {"interval": "1m", "input_series": series, "alert_rule_test": [
            {"eval_time": "5m", "alertname": "GPUHostCritical", "exp_alerts": [
                {"exp_labels": {"instance": "sick", "check": "driver.lib-mismatch"}, "exp_annotations": {
                    "summary": "driver.lib-mismatch on sick: gpuprobe explain driver.lib-mismatch"}}]}]}]}
    with open(f"{scratch}/test.yml", "w", encoding="utf-8") as f:
        json.dump(test, f)
    done = run("promtool", "test", "rules", "test.yml", cwd=scratch)
    tap.rule(name, [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines())


def scrape(port, tries=50):
    for _ in range(tries):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.1)
    return ""


def exporter(scratch, blocks):
    name = "node_exporter exports gpuprobe's metrics"
    if not have(name, "prometheus-node-exporter"):
        return
    folder = f"{scratch}/textfile"
    os.mkdir(folder)
    env = host(f"{scratch}/sick", "gpu-ecc")
    for word in ("node_exporter's textfile", "as a service"):
        line = recipe(blocks, word).replace("/var/lib/prometheus/node-exporter", folder)
        run("sh", "-c", line.replace("watch -i 15", "watch -i 0.1 -n 3"), env=env)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with subprocess.Popen(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{port}", "--collector.disable-defaults",
                           "--collector.textfile", f"--collector.textfile.directory={folder}"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            page = scrape(port)
            want = ["gpuprobe_exit_code 1", 'gpuprobe_cause{check="gpu.ecc"} 1', 'gpuprobe_watch_node_memory_size_bytes{node="0"}',
                    "node_textfile_scrape_error 0"]
            tap.rule(name, [f"not there: {w}" for w in want if w not in page])
            with subprocess.Popen([GPUPROBE, "watch", "-i", "0.1", "-n", "30", "-f", "openmetrics", "-o", f"{folder}/gpuprobe-watch.prom"],
                                  stdout=subprocess.DEVNULL) as writer:
                torn, looks = [], 0
                while writer.poll() is None:
                    page = scrape(port)
                    looks += 1
                    torn += [] if "node_textfile_scrape_error 0" in page and "gpuprobe_watch_node_memory_size_bytes" in page else [page[-300:]]
            tap.rule("node_exporter never reads an incomplete file while gpuprobe watch writes",
                     torn or ([] if looks > 5 else [f"{looks} looks"]))
        finally:
            server.terminate()


# ---- schedulers ------------------------------------------------------------------------------------------------------

def health(scratch, blocks):
    """The recipe with a scontrol that records its arguments. Needs no Slurm."""
    text = recipe(blocks, "HealthCheckProgram")
    bad = []
    for fixture, drained in (("driver-mismatch", True), ("gpu-ecc", False), ("server-8gpu", False)):
        folder = f"{scratch}/slurm-{fixture}"
        env = {**host(folder, fixture), "SLURMD_NODENAME": "n1"}
        script(f"{folder}/scontrol", f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/told\n')
        done = run(script(f"{folder}/health", text), env=env)
        told = open(f"{folder}/told", encoding="utf-8").read() if os.path.exists(f"{folder}/told") else ""
        if done.returncode or bool(told) != drained or (drained and "reason=GPUPROBE CRITICAL - driver.lib-mismatch" not in told):
            bad.append(f"{fixture}: {done.returncode} {told!r}")
        done = run(script(f"{folder}/prolog", recipe(blocks, "`Prolog`")), env=env)
        if bool(done.returncode) != drained or ("driver.lib-mismatch" in done.stderr) != drained:
            bad.append(f"{fixture}: prolog {done.returncode} {done.stderr}")
    tap.rule("Slurm's health check drains only a critical node, and only there the prolog fails", bad)


SLURM = """ClusterName=madeup
SlurmctldHost={node}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={dir}
SlurmdSpoolDir={dir}
SlurmctldPidFile={dir}/ctl.pid
SlurmdPidFile={dir}/d.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/{task}
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=1
{more}
NodeName={node} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(n):
    """Returns unused ports."""
    held = [socket.socket() for _ in range(n)]
    for s in held:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


def slurm(folder, more, ask, task="none", cpus=1):
    """Returns the first answer of ask() from a cluster of one node with these lines in its configuration."""
    node = socket.gethostname().split(".")[0]
    with open(f"{folder}/slurm.conf", "w", encoding="utf-8") as f:
        f.write(SLURM.format(node=node, user="root", ports=free_ports(2), dir=folder, more=more, task=task, cpus=cpus))
    env = {**os.environ, "SLURM_CONF": f"{folder}/slurm.conf"}
    daemons = []
    try:
        for cmd in (["slurmctld", "-D", "-c"], ["slurmd", "-D", "-N", node]):
            with open(f"{folder}/{cmd[0]}.log", "w", encoding="utf-8") as log:
                daemons.append(subprocess.Popen(cmd, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        for _ in range(60):
            time.sleep(0.5)
            said = ask(env)
            if said:
                return said
        return run("sinfo", "-N", "-h", "-o", "%T %E", env=env).stdout
    finally:
        for d in daemons:
            d.terminate()
        for d in daemons:
            d.wait(timeout=30)


def state(env):
    return run("sinfo", "-N", "-h", "-o", "%T %E", env=env).stdout.strip()


def real_slurm(scratch, blocks):
    names = ("slurmd drains a critical node by the health check, with the reason", "slurmd does not drain a healthy node",
             "the prolog keeps a job off a critical node")
    if os.geteuid() or not all(map(shutil.which, ("slurmctld", "slurmd", "srun"))):
        for name in names:
            tap.skip(name, "no slurmd here, or not root")
        return
    said = []
    for fixture, conf, word in (("driver-mismatch", "HealthCheckProgram={}\nHealthCheckInterval=1", "HealthCheckProgram"),
                                ("server-8gpu", "HealthCheckProgram={}\nHealthCheckInterval=1", "HealthCheckProgram"),
                                ("driver-mismatch", "Prolog={}", "`Prolog`")):
        folder = f"{scratch}/real-{len(said)}"
        host(folder, fixture)
        first, rest = recipe(blocks, word).split("\n", 1)
        path = script(f"{folder}/recipe", f"{first}\nPATH={folder}:$PATH; export PATH SLURM_CONF={folder}/slurm.conf\ndate >> {folder}/ran\n{rest}")

        def drained(env):
            now = state(env)
            return now if "drain" in now else ""

        def checked_often(env, folder=folder):
            ran = os.path.exists(f"{folder}/ran") and open(f"{folder}/ran", encoding="utf-8").read().count("\n") >= 3
            return state(env) if ran else ""

        def after_job(env):
            if "idle" in state(env):
                run("timeout", "5", "srun", "-Q", "true", env=env)
            return drained(env)

        said.append(slurm(folder, conf.format(path), (drained, checked_often, after_job)[len(said)]))
    tap.rule(names[0], [] if said[0].startswith("drained GPUPROBE CRITICAL - driver.lib-mismatch") else [said[0]])
    tap.rule(names[1], [] if said[1] == "idle none" else [said[1]])
    tap.rule(names[2], [] if re.match("drain.*(Prolog error|prolog)", said[2]) else [said[2]])


def detector(scratch, blocks):
    config = json.loads(recipe(blocks, "gpuprobe-npd.json"))
    bad = [f"rule {r['reason']}: its condition is not declared" for r in config["rules"]
           if r["type"] == "permanent" and r["condition"] not in [c["type"] for c in config["conditions"]]]
    path = script(f"{scratch}/npd", recipe(blocks, "/usr/local/bin/gpuprobe-npd`:"))
    for fixture, code in (("server-8gpu", 0), ("gpu-ecc", 0), ("driver-mismatch", 1)):
        done = run(path, env=host(f"{scratch}/npd-{fixture}", fixture))
        if done.returncode != code or not done.stdout.startswith("GPUPROBE ") or "|" in done.stdout:
            bad.append(f"{fixture}: {done.returncode} {done.stdout}")
    tap.rule("the plug-in of node-problem-detector exits with 0, 1 or another status for unknown", bad)


def play(scratch, env, book):
    return run("ansible-playbook", "-i", "localhost,", "-c", "local", book, cwd=scratch, env={
        **env, "ANSIBLE_LOCAL_TEMP": scratch, "ANSIBLE_REMOTE_TEMP": scratch, "HOME": scratch, "LC_ALL": "C.UTF-8"})


def ansible(scratch, blocks):
    name = "Ansible's play distinguishes a critical host from a healthy one"
    if not have(name, "ansible-playbook"):
        return
    with open(f"{scratch}/gpuprobe.yml", "w", encoding="utf-8") as f:
        f.write(recipe(blocks, "Ansible, `gpuprobe.yml`"))
    bad = []
    for fixture, fails, word in (("server-8gpu", False, '"OK"'), ("gpu-ecc", False, "WARNING"), ("driver-mismatch", True, "CRITICAL")):
        done = play(scratch, host(f"{scratch}/ansible-{fixture}", fixture), "gpuprobe.yml")
        if bool(done.returncode) != fails or word not in done.stdout:
            bad += [f"{fixture}: {done.returncode}", *(done.stdout + done.stderr).splitlines()[-12:]]
    tap.rule(name, bad)


# ---- gputune verify ----------------------------------------------------------------------------------------------------


def tuned(folder):
    """Makes a directory for PATH in which gputune works on a synthetic host, and returns the file of a knob there."""
    root = f"{folder}/root"
    os.makedirs(folder)
    run(os.path.join(tap.BUILD, "tests", "cli", "unpack"), f"{tap.FIXTURES}/vm-2cpu.host", root)
    for each in ("sysctl.d", "tmpfiles.d", "udev/rules.d"):
        os.makedirs(f"{root}/etc/{each}", exist_ok=True)
    script(f"{folder}/gputune", f'#!/bin/sh\nexec {os.path.join(tap.BUILD, "gputune")} --root {root} "$@"\n')
    script(f"{folder}/sudo", '#!/bin/sh\nshift\nexec "$@"\n')
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}, f"{root}/proc/sys/vm/max_map_count"


def verify(scratch, blocks):
    """Verify after apply, after a change by another program, and without root."""
    env, knob = tuned(f"{scratch}/verify")
    folder = tempfile.mkdtemp(prefix="gputune-textfile-")
    here = lambda text: text.replace("/usr/sbin/gputune", "gputune").replace("/var/lib/prometheus/node-exporter", folder)
    cron = here(recipe(blocks, "/etc/cron.d/gputune")).split(" root ", 1)[1]
    nagios = script(f"{scratch}/check_gputune", here(recipe(blocks, "check_gputune")))
    textfile = here(recipe(blocks, "textfile collector"))
    if os.geteuid() == 0:
        os.chown(folder, 65534, 65534)
    else:  # Only root can become the directory's owner.
        textfile = re.sub(r"runuser .* -- sh", "sh", textfile)
    bad = []
    run("gputune", "apply", "--only", "vm.max_map_count", env=env)
    for word, code, status in (("OK", 0, 0), ("WARNING", 4, 1)):
        mail = run("sh", "-c", cron, env=env).stdout
        if bool(mail) != bool(code) or (code and "drift" not in mail):
            bad.append(f"cron, {word}: {mail!r}")
        done = run(nagios, env=env)
        if done.returncode != status or not done.stdout.startswith(f"GPUTUNE {word} - gputune verify ends with {code}\n"):
            bad.append(f"Nagios, {word}: {done.returncode} {done.stdout!r}")
        run("sh", "-c", textfile, env=env)
        with open(f"{folder}/gputune.prom", encoding="utf-8") as f:
            said = f.read()
        bad += [] if said == f"gputune_verify_exit_code {code}\n" else [f"textfile, {word}: {said!r}"]
        with open(knob, "w", encoding="utf-8") as f:
            f.write("70000\n")
    if os.geteuid() == 0:
        victim = tempfile.NamedTemporaryFile(mode="w+", prefix="gputune-root-", delete=True)
        os.symlink(victim.name, f"{folder}/gputune.prom.new")
        run("sh", "-c", textfile, env=env)
        bad += ["the textfile recipe wrote as root through a link of the directory's owner"] if os.path.getsize(victim.name) else []
    shutil.rmtree(folder)
    tap.rule("cron's mail, the plug-in and the metric report drift and nothing else", bad)


def fleet(scratch, blocks):
    name = "Ansible's play tunes a host once, and again after drift"
    if not have(name, "ansible-playbook"):
        return
    with open(f"{scratch}/gputune.yml", "w", encoding="utf-8") as f:
        f.write(recipe(blocks, "Ansible, `gputune.yml`"))
    env, knob = tuned(f"{scratch}/fleet")
    bad = []
    for changed, drifts in ((1, False), (0, False), (1, True)):
        if drifts:
            with open(knob, "w", encoding="utf-8") as f:
                f.write("70000\n")
        done = play(scratch, env, "gputune.yml")
        if done.returncode or f"changed={changed} " not in done.stdout:
            bad += [f"changed={changed} was expected", *(done.stdout + done.stderr).splitlines()[-12:]]
    tap.rule(name, bad)


def main():
    blocks = recipes("gpuprobe")
    with tempfile.TemporaryDirectory() as scratch:
        metrics()
        rules(scratch, blocks)
        exporter(scratch, blocks)
        health(scratch, blocks)
        real_slurm(scratch, blocks)
        detector(scratch, blocks)
        ansible(scratch, blocks)
        verify(scratch, recipes("gputune"))
        fleet(scratch, recipes("gputune"))
    tap.plan()


if __name__ == "__main__":
    main()
