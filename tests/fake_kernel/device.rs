//! `/dev/kfd`: opening, its ioctls, their errors.

use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::FileTypeExt as _;

use kfd_smi_io::{GpuId, Kfd};
use kfd_smi_testkit::fake_kernel::{Errno, FakeKernel, Gpu};
use rustix::fs::{Access, access};

use crate::remote::{Remote, users};
use crate::{GPU, kernel, one_gpu};

/// Makes an ioctl with eight bytes.
pub(crate) fn ioctl(fd: impl AsFd, request: u32, argument: &mut [u32; 2]) -> Result<(), Errno> {
    // SAFETY: every request of these tests has an argument of eight bytes or less.
    match unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), request.into(), argument) } {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap()),
    }
}

pub(crate) fn version_of(fd: impl AsFd) -> Result<[u32; 2], Errno> {
    let mut version = [0; 2];
    ioctl(fd, 0x8008_4b01, &mut version).map(|()| version)
}

#[test]
fn a_client_in_another_process_gets_what_it_asks_for() {
    for user in users() {
        let mut kernel = kernel!(one_gpu().version(1, 23).gpu(Gpu::new(2, 0xbeef)));
        let mut remote = Remote::start(&mut kernel, user);
        assert_eq!(remote.ask("open"), "done");
        assert_eq!(kernel.open_devices(), 1);
        assert_eq!(remote.ask("version"), "1.23");
        for gpu in ["1ea0", "beef"] {
            assert_eq!(remote.ask(&format!("smi {gpu}")), "done");
            assert_eq!(remote.ask(&format!("mask {gpu} 8000000000000fff")), "done");
        }
        kernel.wait_for_clients(2).unwrap();
        // The device can be closed, the clients go on.
        assert_eq!(remote.ask("close"), "done");
        kernel.wait_until_device_closed().unwrap();
        assert_eq!(kernel.emit(GpuId(0xbeef), b"3 1 user trigger\n").taken, 1);
        assert_eq!(remote.ask("read 1ea0"), "nothing");
        assert_eq!(remote.ask("read beef"), "3 1 user trigger\\n");
        assert_eq!(remote.ask("drop beef"), "done");
        kernel.wait_for_clients(1).unwrap();
        remote.finish();
        kernel.wait_for_clients(0).unwrap();
        assert_eq!(kernel.masks(GPU), []);
    }
}

#[test]
fn opening_fails_as_told() {
    for errno in
        [Errno::ACCESS, Errno::INVAL, Errno::AGAIN, Errno::PERM, Errno::NXIO, Errno::NODEV, Errno::NOENT]
    {
        let kernel = kernel!(one_gpu().open_error(errno));
        let opened = kernel.run(|| (Kfd::open(), File::open("/dev/kfd"))).unwrap();
        assert_eq!(opened.0.unwrap_err().errno(), errno);
        assert_eq!(opened.1.unwrap_err().raw_os_error(), Some(errno.raw_os_error()));
        let [exists, readable] =
            kernel.run(|| [Access::EXISTS, Access::READ_OK].map(|how| access("/dev/kfd", how))).unwrap();
        match errno {
            Errno::NOENT => assert_eq!((exists, readable), (Err(errno), Err(errno))),
            Errno::ACCESS => assert_eq!((exists, readable), (Ok(()), Err(errno))),
            _ => assert_eq!((exists, readable), (Ok(()), Ok(()))),
        }
        let metadata = kernel.run(|| fs::metadata("/dev/kfd")).unwrap();
        assert_eq!(
            metadata.is_ok_and(|metadata| metadata.file_type().is_char_device()),
            errno != Errno::NOENT
        );
        assert_eq!(kernel.open_devices(), 0);
    }
}

#[test]
fn opening_fails_once() {
    let kernel = kernel!(one_gpu().open_error_once(Errno::AGAIN).open_error_once(Errno::INVAL));
    let opened = kernel.run(|| [0; 3].map(|_| Kfd::open().map(drop).map_err(|error| error.errno()))).unwrap();
    assert_eq!(opened, [Err(Errno::AGAIN), Err(Errno::INVAL), Ok(())]);
}

#[test]
fn ioctls_fail_as_told() {
    let [hidden, full] = [GpuId(0xbeef), GpuId(0xcafe)];
    let gpus = one_gpu().gpu(Gpu::new(2, hidden.0)).gpu(Gpu::new(3, full.0));
    let kernel = kernel!(gpus.hidden(hidden).smi_error(full, Errno::MFILE).version_error(Errno::NOTTY));
    let got = kernel.run(|| {
        let kfd = Kfd::open().unwrap();
        assert_eq!(kfd.version().unwrap_err().errno(), Errno::NOTTY);
        [GPU, GpuId(0), GpuId(1), hidden, full].map(|gpu| match kfd.smi_events(gpu) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.errno()),
        })
    });
    let invalid = Err(Errno::INVAL);
    assert_eq!(got.unwrap(), [Ok(()), invalid, invalid, invalid, Err(Errno::MFILE)]);
}

#[test]
fn the_number_of_an_ioctl_decides() {
    let kernel = kernel!(one_gpu());
    kernel
        .run(|| {
            let kfd = File::open("/dev/kfd").unwrap();
            assert_eq!(version_of(&kfd), Ok([1, 17]));
            // Another direction, half the size.
            let mut version = [77, 77];
            ioctl(&kfd, 0x4004_4b01, &mut version).unwrap();
            assert_eq!(version, [1, 77]);
            for nr in [0x00, 0x7f] {
                assert_eq!(ioctl(&kfd, 0xc008_4b00 | nr, &mut [0; 2]), Err(Errno::NOTTY));
            }
            // The result of a failure is not written.
            let mut events = [1, 77];
            assert_eq!(ioctl(&kfd, 0xc008_4b1f, &mut events), Err(Errno::INVAL));
            assert_eq!(events, [1, 77]);
            // Other files are none of the driver's.
            assert_eq!(version_of(File::open("/dev/null").unwrap()), Err(Errno::NOTTY));
        })
        .unwrap();
}

#[test]
fn the_device_is_of_no_use_to_another_process() {
    let mut kernel = kernel!(one_gpu());
    let mut remote = Remote::start(&mut kernel, None);
    remote.ask("open");
    assert_eq!(remote.ask("heir"), Errno::BADF.raw_os_error().to_string());
    assert_eq!(remote.ask("version"), "1.17");
}

#[test]
fn without_driver_there_is_nothing() {
    let kernel = kernel!(FakeKernel::builder().not_loaded());
    let [device, folder] = kernel
        .run(|| ["/dev/kfd", "/sys/class/kfd"].map(|path| fs::metadata(path).unwrap_err().kind()))
        .unwrap();
    assert_eq!([device, folder], [std::io::ErrorKind::NotFound; 2]);
    assert_eq!(kernel.run(Kfd::open).unwrap().unwrap_err().errno(), Errno::NOENT);
}
