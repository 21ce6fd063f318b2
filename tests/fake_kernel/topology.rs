//! The driver's files below `/sys`.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use kfd_smi_io::{GpuId, Kfd};
use kfd_smi_testkit::fake_kernel::{Errno, Gpu};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat, openat2};

use crate::remote::Remote;
use crate::{GPU, kernel, one_gpu};

const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology";

fn text(path: &str) -> std::io::Result<String> {
    fs::read_to_string(format!("{TOPOLOGY}/{path}"))
}

#[test]
fn nodes_are_listed_and_described() {
    let gpu = Gpu { name: "aldebaran".into(), domain: 3, unique_id: u64::MAX, ..Gpu::new(4, 0xbeef) };
    let kernel = kernel!(one_gpu().gpu(gpu));
    kernel
        .run(|| {
            let nodes = fs::read_dir(format!("{TOPOLOGY}/nodes")).unwrap();
            let mut nodes: Vec<_> = nodes.map(|node| node.unwrap().file_name()).collect();
            nodes.sort();
            assert_eq!(nodes, ["0", "1", "4"]);
            assert_eq!(text("nodes/0/gpu_id").unwrap(), "0\n");
            assert_eq!(text("nodes/0/name").unwrap(), "\n");
            assert_eq!(text("nodes/4/gpu_id").unwrap(), "48879\n");
            assert_eq!(text("nodes/4/name").unwrap(), "aldebaran\n");
            let properties = text("nodes/4/properties").unwrap();
            for line in
                ["domain 3", "unique_id 18446744073709551615", "location_id 1024", "drm_render_minor 131"]
            {
                assert!(properties.lines().any(|found| found == line), "{line} in {properties}");
            }
            assert_eq!(text("nodes/2/gpu_id").unwrap_err().kind(), ErrorKind::NotFound);
        })
        .unwrap();
}

#[test]
fn every_way_to_a_file_leads_there() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let real = Path::new("/sys/devices/virtual/kfd/kfd/topology");
            assert_eq!(fs::canonicalize(TOPOLOGY).unwrap(), real);
            assert!(fs::symlink_metadata("/sys/class/kfd/kfd").unwrap().is_symlink());
            let read = |fd| {
                let mut text = String::new();
                File::from(fd).read_to_string(&mut text).map(|_| text).unwrap()
            };
            let path = format!("{TOPOLOGY}/../topology//nodes/./1/gpu_id");
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            assert_eq!(read(open(&path, flags, Mode::empty()).unwrap()), "7840\n");
            assert_eq!(read(openat(CWD, &path, flags, Mode::empty()).unwrap()), "7840\n");
            let how = ResolveFlags::empty();
            assert_eq!(read(openat2(CWD, &path, flags, Mode::empty(), how).unwrap()), "7840\n");
            let folder = open(real.join("nodes"), flags | OFlags::DIRECTORY, Mode::empty()).unwrap();
            assert_eq!(read(openat(&folder, "1/gpu_id", flags, Mode::empty()).unwrap()), "7840\n");
            let path = CString::new(path).unwrap();
            // SAFETY: the path is a string of C.
            assert_eq!(unsafe { libc::access(path.as_ptr(), libc::R_OK) }, 0);
            assert!(rustix::fs::stat(&*path).is_ok() && rustix::fs::lstat(&*path).is_ok());
            assert_eq!(rustix::fs::readlink(&*path, vec![]), Err(Errno::INVAL));
            // Nobody writes here.
            let written = open(&*path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            assert_eq!(written.unwrap_err(), Errno::ACCESS);
            // What is not the driver's is as ever.
            assert!(fs::read_to_string("/proc/self/status").is_ok());
            assert_eq!(File::open("/sys/class/kfdx").unwrap_err().kind(), ErrorKind::NotFound);
            // SAFETY: no memory is there, which is the point.
            let fd = unsafe { libc::open(8 as *const _, libc::O_RDONLY) };
            assert_eq!((fd, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
        })
        .unwrap();
}

#[test]
fn a_hidden_gpu_can_be_opened_and_not_read() {
    let kernel = kernel!(one_gpu().gpu(Gpu::new(2, 0xbeef)).hidden(GpuId(0xbeef)));
    kernel
        .run(|| {
            for file in ["gpu_id", "name", "properties"] {
                assert!(text(&format!("nodes/1/{file}")).is_ok());
                assert!(File::open(format!("{TOPOLOGY}/nodes/2/{file}")).is_ok());
                let error = text(&format!("nodes/2/{file}")).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EPERM));
                // By way of the folder, too.
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let folder = open(format!("{TOPOLOGY}/nodes/2"), flags, Mode::empty()).unwrap();
                let file = openat(&folder, file, flags, Mode::empty()).unwrap();
                assert_eq!(rustix::io::read(&file, &mut [0; 8]), Err(Errno::PERM));
                assert_eq!(rustix::io::pread(&file, &mut [0; 8], 0), Err(Errno::PERM));
            }
            assert_eq!(fs::read_dir(format!("{TOPOLOGY}/nodes/2")).unwrap().count(), 3);
        })
        .unwrap();
}

#[test]
fn a_change_is_a_new_generation() {
    let kernel = kernel!(one_gpu());
    let on_kernel = |path: &str| kernel.run(|| text(path)).unwrap();
    let generation = || on_kernel("generation_id").unwrap().trim().parse::<u32>().unwrap();
    let first = generation();
    kernel.add_gpu(Gpu::new(2, 0xbeef)).unwrap();
    assert_eq!(generation(), first + 1);
    assert_eq!(on_kernel("nodes/2/gpu_id").unwrap(), "48879\n");
    let client = kernel.run(|| Kfd::open().unwrap().smi_events(GpuId(0xbeef)).unwrap()).unwrap();
    kernel.remove_gpu(GpuId(0xbeef)).unwrap();
    assert_eq!(generation(), first + 2);
    assert_eq!(on_kernel("nodes/2/gpu_id").unwrap_err().kind(), ErrorKind::NotFound);
    let again = kernel.run(|| Kfd::open().unwrap().smi_events(GpuId(0xbeef)).map(drop)).unwrap();
    assert_eq!(again.unwrap_err().errno(), Errno::INVAL);
    // Those who had it hear nothing more.
    assert!(!client.poll(Some(std::time::Duration::ZERO)).unwrap());
    assert!(kernel.remove_gpu(GpuId(0xbeef)).is_err());

    // A look that began before the change ends after it.
    kernel.add_gpu_during_scan(Gpu::new(3, 0xcafe));
    assert_eq!(generation(), first + 2);
    assert_eq!(on_kernel("nodes/1/gpu_id").unwrap(), "7840\n");
    assert_eq!(generation(), first + 3);
    assert_eq!(on_kernel("nodes/3/gpu_id").unwrap(), "51966\n");
}

#[test]
fn who_opens_the_device_is_listed_until_it_ends() {
    let mut kernel = kernel!(one_gpu().process(1));
    let listed = |kernel: &mut _, pid: u32| {
        let mut other = Remote::start(kernel, None);
        other.ask(&format!("path /sys/class/kfd/kfd/proc/{pid}/vram_{}", GPU.0))
    };
    let mut remote = Remote::start(&mut kernel, None);
    let pid = remote.pid();
    assert_eq!(listed(&mut kernel, pid), "false");
    remote.ask("open");
    assert_eq!(listed(&mut kernel, pid), "true");
    remote.ask("close");
    kernel.wait_until_device_closed().unwrap();
    assert_eq!(listed(&mut kernel, pid), "true");
    assert_eq!(listed(&mut kernel, 1), "true");
    remote.finish();
    assert_eq!(listed(&mut kernel, pid), "false");
}
