//! Reads a process's processor time and memory from `/proc`.

use std::fs::read_to_string;

use anyhow::{Context as _, Result};

/// Clock ticks a second, on every Linux that we know of.
const TICKS: f64 = 100.0;

/// Microseconds of processor time that a process has used, in user space and in the kernel, all of its threads.
pub fn cpu_us(pid: u32) -> Result<f64> {
    let stat = read_to_string(format!("/proc/{pid}/stat")).with_context(|| format!("Process {pid} has ended."))?;
    let (_, after_name) = stat.rsplit_once(')').context("/proc/PID/stat has no name.")?;
    let mut fields = after_name.split_whitespace().skip(11).map(str::parse::<f64>);
    let user = fields.next().context("/proc/PID/stat has no user time.")??;
    let kernel = fields.next().context("/proc/PID/stat has no kernel time.")??;
    Ok((user + kernel) / TICKS * 1e6)
}

/// Processor time of this process's main thread, which generates all load, in microseconds.
pub fn own_cpu_us() -> Result<f64> {
    let schedstat = read_to_string("/proc/self/schedstat")?;
    let nanoseconds: f64 = schedstat.split_whitespace().next().context("/proc/PID/schedstat is empty.")?.parse()?;
    Ok(nanoseconds / 1e3)
}

/// Resident memory of a process, in bytes.
pub fn resident_bytes(pid: u32) -> Result<f64> {
    let status = read_to_string(format!("/proc/{pid}/status")).with_context(|| format!("Process {pid} has ended."))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("/proc/PID/status has no VmRSS.")?;
    let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib * 1024.0)
}

/// The processes that a process has started and that still run.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let told = read_to_string(format!("/proc/{pid}/task/{pid}/children"))?;
    Ok(told.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?)
}

/// Load average of the last minute.
pub fn load_average() -> String {
    let text = read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("?").to_owned()
}

/// The processor's name and how many there are.
pub fn machine() -> String {
    let text = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut names = text.lines().filter_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let name = names.next().map_or("unknown processor", |(_, name)| name).to_owned();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{cores} x {name}")
}

/// Opens as many sockets as the machine lets this process open.
pub fn open_many_sockets() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // If the system refuses, the limit stays as it was.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}
