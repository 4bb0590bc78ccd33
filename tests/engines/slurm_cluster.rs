//! slurmctld and two slurmd with munge, of this user, on free ports of loopback.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use testkit::tools::tool;

use crate::sweep::wait_for;
use crate::sweep_case::text;

/// A running cluster. It ends when this is dropped.
pub struct Cluster {
    directory: TempDir,
    daemons: Vec<Child>,
}

/// What `scontrol` says about a task: values by key.
type Fields = BTreeMap<String, String>;

impl Cluster {
    /// `None` where Slurm is not installed.
    pub fn start() -> Option<Self> {
        // Every missing program is named.
        let programs = ["slurmctld", "slurmd", "sbatch", "munged"].map(tool);
        if programs.contains(&false) {
            return None;
        }
        let mut cluster = Cluster {
            directory: tempfile::tempdir().unwrap(),
            daemons: Vec::new(),
        };
        fs::write(cluster.path("slurm.conf"), cluster.configuration()).unwrap();
        cluster.start_munge();
        cluster.daemon("slurmctld", &["-D"]);
        cluster.daemon("slurmd", &["-D", "-N", "one"]);
        cluster.daemon("slurmd", &["-D", "-N", "two"]);
        wait_for("the nodes are not idle", || {
            let states = cluster.output("sinfo", &["-h", "-N", "-o", "%T"]);
            (states == "idle\nidle\n").then_some(())
        });
        Some(cluster)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn configuration(&self) -> String {
        let directory = self.directory.path().display();
        let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
        let user = user.trim();
        let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, one, two] = listeners.map(|it| it.local_addr().unwrap().port());
        let node = |name: &str, port: u16| {
            format!(
                "NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2000\n"
            )
        };
        format!(
            "ClusterName=test\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort={control}\n\
             SlurmUser={user}\nSlurmdUser={user}\n\
             StateSaveLocation={directory}/state\nSlurmdSpoolDir={directory}/spool-%n\n\
             SlurmctldPidFile={directory}/slurmctld.pid\nSlurmdPidFile={directory}/slurmd-%n.pid\n\
             SlurmctldLogFile={directory}/slurmctld.log\nSlurmdLogFile={directory}/slurmd-%n.log\n\
             AuthType=auth/munge\nCredType=cred/munge\nMailProg=/bin/true\n\
             AuthInfo=socket={directory}/munge/socket,cred_expire=5\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
             SchedulerType=sched/builtin\nSchedulerParameters=sched_interval=1\nReturnToService=2\n\
             {}{}PartitionName=all Nodes=one,two Default=YES MaxTime=INFINITE State=UP\n",
            node("one", one),
            node("two", two),
        )
    }

    fn start_munge(&mut self) {
        let directory = self.path("munge");
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o711)).unwrap();
        let key = directory.join("key");
        fs::write(&key, [b'k'; 64]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let file =
            |option: &str, name: &str| format!("--{option}={}", directory.join(name).display());
        let arguments = [
            file("socket", "socket"),
            file("key-file", "key"),
            file("pid-file", "pid"),
            file("log-file", "log"),
            file("seed-file", "seed"),
        ];
        let mut words = vec!["--force", "--foreground"];
        words.extend(arguments.iter().map(String::as_str));
        self.daemon("munged", &words);
        wait_for("munged does not start", || {
            directory.join("socket").exists().then_some(())
        });
    }

    fn daemon(&mut self, program: &str, arguments: &[&str]) {
        let child = self
            .command(program, arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.daemons.push(child.unwrap());
    }

    /// A program of Slurm. Tasks inherit its environment: this build of imgcheck, without what the tests' own environment says.
    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let built = Path::new(env!("CARGO_BIN_EXE_imgcheck")).parent().unwrap();
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", built.display());
        let mut command = Command::new(program);
        command.args(arguments).env_clear().env("PATH", path);
        command
            .env("HOME", self.directory.path())
            .env("SLURM_CONF", self.path("slurm.conf"))
            .env("IMGCHECK_NO_CONFIG", "true")
            .env("IMGCHECK_NO_PROGRESS", "true");
        command
    }

    fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.command(program, arguments).output().unwrap();
        text(&output.stdout)
    }

    /// Runs `scontrol`.
    pub fn control(&self, arguments: &[&str]) {
        let output = self.command("scontrol", arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    }

    /// The features of all nodes.
    pub fn features(&self) -> String {
        self.output("sinfo", &["-h", "-o", "%f"])
    }

    /// Submits a script as an array, and returns the number of the job. What task N prints is in `task-N`.
    pub fn submit(&self, script: &str, directory: &Path, array: &str) -> String {
        let mut command = self.command("sbatch", &["--parsable", "--output=task-%a"]);
        let command = command
            .arg(format!("--array={array}"))
            .current_dir(directory);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(script.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{script}");
        text(&output.stdout).trim().to_owned()
    }

    /// The tasks of an array, by their number, as far as each is a job of its own.
    pub fn tasks(&self, job: &str) -> BTreeMap<String, Fields> {
        let output = self.output("scontrol", &["show", "job", job, "--oneliner"]);
        let fields = |line: &str| -> Fields {
            let pairs = line.split_whitespace().filter_map(|it| it.split_once('='));
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect()
        };
        let tasks = output.lines().map(fields);
        let tasks = tasks.filter_map(|it| Some((it.get("ArrayTaskId")?.clone(), it)));
        tasks.collect()
    }

    /// The node that runs a task.
    pub fn node_of(&self, job: &str, task: &str) -> String {
        self.tasks(job)[task]["NodeList"].clone()
    }

    /// How many tasks run now.
    pub fn running(&self, job: &str) -> usize {
        let tasks = self.tasks(job);
        tasks
            .values()
            .filter(|it| it["JobState"] == "RUNNING")
            .count()
    }

    pub fn wait_for_state(&self, job: &str, task: &str, state: &str) {
        wait_for(state, || {
            (self.tasks(job)[task]["JobState"] == state).then_some(())
        });
    }

    /// Waits until no job waits or runs.
    pub fn wait_until_empty(&self) {
        wait_for("jobs do not end", || {
            self.output("squeue", &["-h"]).is_empty().then_some(())
        });
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Tasks that still run have no parent that would end them.
        let tasks = self.output("squeue", &["-h", "-o", "%A"]);
        for job in tasks.lines() {
            self.output("scancel", &["--full", "--signal=KILL", job]);
        }
        for child in self.daemons.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
