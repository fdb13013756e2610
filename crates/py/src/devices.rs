//! Drives with contents for programs in Python.

use crate::errors::{InputError, refuse_at};
use crate::serving::{Made, save};
use drive::PowerLoss;
use drive::embed::{self, EmbedError, EmbedErrorKind, Request};
use kit::{Bytes, Cause, Ledger, Nanos, Status};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

pyo3::create_exception!(
    ssdlab,
    DeviceError,
    PyOSError,
    "A device has not done what a call asked for: data is lost, the drive is read-only or worn out, its contents are full."
);

pyo3::create_exception!(ssdlab, PowerLossError, DeviceError, "The device has lost power, and has not recovered.");

/// Numbers of errors as `errno.h` has them.
const EIO: i32 = 5;
const ENODEV: i32 = 19;
const ENOSPC: i32 = 28;
const EROFS: i32 = 30;

/// Returns the exception for an error of a drive.
fn raised(error: &EmbedError) -> PyErr {
    match error.kind {
        EmbedErrorKind::PowerLost => PowerLossError::new_err((ENODEV, error.text.clone())),
        EmbedErrorKind::Full => DeviceError::new_err((ENOSPC, error.text.clone())),
        EmbedErrorKind::WornOut | EmbedErrorKind::Failed => DeviceError::new_err((EIO, error.text.clone())),
        _ => InputError::new_err(error.text.clone()),
    }
}

/// Returns a duration that is given as a number of nanoseconds, or as a text such as `2us`.
fn duration(place: &str, given: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    if let Ok(nanos) = given.extract::<u64>() {
        return Ok(Nanos(nanos));
    }
    let Ok(text) = given.extract::<String>() else {
        let text = format!("{given}: expected a duration such as \"2us\", or a number of nanoseconds from 0 on");
        return Err(refuse_at(place, text));
    };
    text.parse().map_err(|complaint| refuse_at(place, complaint))
}

/// Returns the figures of a recovery, as `power_failure` in `summary.json` has them.
fn recovery<'py>(py: Python<'py>, loss: &PowerLoss) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("recovery_ns", loss.recovery.0)?;
    found.set_item("recovery_reads", loss.recovery_reads)?;
    found.set_item("durable_lost", loss.durable_lost)?;
    found.set_item("volatile_lost", loss.volatile_lost)?;
    found.set_item("torn_pages", loss.torn_pages)?;
    Ok(found)
}

/// Result of a call.
#[pyclass(frozen, module = "ssdlab")]
pub struct Answer {
    /// Data that was read.
    #[pyo3(get)]
    data: Py<PyBytes>,
    /// Simulated time from submission to completion [ns].
    #[pyo3(get)]
    latency_ns: u64,
    causes: Ledger,
    status: Status,
}

#[pymethods]
impl Answer {
    /// The latency by cause [ns], without the causes that took no time.
    #[getter]
    fn causes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let causes = PyDict::new(py);
        for (cause, time) in Cause::ALL.iter().zip(self.causes.0).filter(|(_, time)| *time > 0) {
            causes.set_item(cause.name(), time)?;
        }
        Ok(causes)
    }

    /// Status of the command as NVMe has it: 0, or type and code of the error.
    #[getter]
    fn status(&self) -> u16 {
        self.status.code()
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let bytes = self.data.bind(py).len().unwrap_or(0);
        let status = if self.status == Status::Success { String::new() } else { format!(", status {:#x}", self.status.code()) };
        format!("<ssdlab.Answer: {} ns, {bytes} bytes{status}>", self.latency_ns)
    }
}

impl Answer {
    fn of(py: Python<'_>, answer: &embed::Answer) -> Answer {
        let embed::Answer { status, latency, causes, ref data } = *answer;
        Answer { data: PyBytes::new(py, data).unbind(), latency_ns: latency.0, causes, status }
    }
}

/// A drive with contents, whose clock stands still between the calls of a program.
#[pyclass(frozen)]
pub struct Device {
    device: Mutex<embed::Device>,
    /// Exception that a look has raised.
    raised: Arc<Mutex<Option<PyErr>>>,
}

/// A request of a batch: its kind, offset, length and data.
type Asked<'py> = (String, u64, u64, Bound<'py, PyBytes>);

#[pymethods]
impl Device {
    /// Makes a device of a drive. The time `call`, that of the program, passes before each call.
    #[new]
    fn new(py: Python<'_>, made: Made, call: &Bound<'_, PyAny>) -> PyResult<Device> {
        let call = duration("call", call)?;
        let built = py.detach(|| {
            let drive = made.drive(&made.builder().causes().host("device")).map_err(InputError::new_err)?;
            embed::Device::new(drive, call).map_err(|error| raised(&error))
        });
        built.map(Device::of)
    }

    /// User capacity [bytes].
    #[getter]
    fn user_bytes(&self) -> PyResult<u64> {
        Ok(self.device()?.drive().user_bytes())
    }

    /// Simulated time [ns].
    #[getter]
    fn now(&self) -> PyResult<u64> {
        Ok(self.device()?.drive().now().0)
    }

    /// Bytes of the contents that are kept, and of the tables beside them.
    #[getter]
    fn contents_bytes(&self) -> PyResult<(u64, u64)> {
        Ok(self.device()?.drive().contents_bytes().unwrap_or_default())
    }

    fn read(&self, py: Python<'_>, offset: u64, length: u64) -> PyResult<Answer> {
        self.serve(py, Request::Read { offset: Bytes(offset), length: Bytes(length) })
    }

    fn write(&self, py: Python<'_>, offset: u64, data: &[u8], durable: bool) -> PyResult<Answer> {
        self.serve(py, Request::Write { offset: Bytes(offset), data, is_durable: durable })
    }

    fn flush(&self, py: Python<'_>) -> PyResult<Answer> {
        self.serve(py, Request::Flush)
    }

    fn trim(&self, py: Python<'_>, offset: u64, length: u64) -> PyResult<Answer> {
        self.serve(py, Request::Trim { offset: Bytes(offset), length: Bytes(length) })
    }

    fn batch<'py>(&self, py: Python<'py>, requests: Vec<Asked<'py>>) -> PyResult<Vec<Answer>> {
        let mut all = Vec::with_capacity(requests.len());
        for (kind, offset, length, data) in &requests {
            let (offset, length) = (Bytes(*offset), Bytes(*length));
            all.push(match kind.as_str() {
                "read" => Request::Read { offset, length },
                "write" | "durable_write" => Request::Write { offset, data: data.as_bytes(), is_durable: kind != "write" },
                "flush" => Request::Flush,
                "trim" => Request::Trim { offset, length },
                other => {
                    let text = format!("batch: `{other}`: expected read, write, durable_write, flush or trim");
                    return Err(InputError::new_err(text));
                }
            });
        }
        let mut device = self.device()?;
        let answers = device.batch(&all).map_err(|error| self.raised(&error))?;
        Ok(answers.iter().map(|answer| Answer::of(py, answer)).collect())
    }

    fn spend(&self, time: &Bound<'_, PyAny>) -> PyResult<()> {
        let time = duration("spend", time)?;
        self.device()?.spend(time).map_err(|error| self.raised(&error))
    }

    fn cut(&self, events: u64) -> PyResult<()> {
        self.device()?.lose_power_after(events).map_err(|error| raised(&error))
    }

    fn recover<'py>(&self, py: Python<'py>, down: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let down = duration("down", down)?;
        let loss = self.device()?.recover(down).map_err(|error| raised(&error))?;
        recovery(py, &loss)
    }

    /// Has `look` called after each `every` events with what becomes of the device if it loses power there: the device
    /// that has recovered, and the figures of its recovery. `None` ends that. An exception ends the call.
    #[pyo3(signature = (look, every, down))]
    fn watch(&self, look: Option<Py<PyAny>>, every: u64, down: &Bound<'_, PyAny>) -> PyResult<()> {
        let down = duration("down", down)?;
        let mut device = self.device()?;
        let Some(look) = look else {
            device.drive_mut().unwatch();
            return Ok(());
        };
        if every == 0 {
            return Err(refuse_at("every", "0: expected a number of events from 1 on"));
        }
        device.drive().can_be_forked().map_err(|error| raised(&error))?;
        let raised_there = Arc::clone(&self.raised);
        device.drive_mut().watch(every, move |drive| {
            let looked = Python::attach(|py| {
                let (other, loss) = drive.after_power_loss(down).map_err(|error| raised(&error))?;
                let other = embed::Device::new(other, Nanos(0)).map_err(|error| raised(&error))?;
                look.call1(py, (Device::of(other), recovery(py, &loss)?)).map(drop)
            });
            let is_fine = looked.is_ok();
            *raised_there.lock().unwrap_or_else(PoisonError::into_inner) = looked.err();
            is_fine
        });
        Ok(())
    }

    /// Saves the device with its contents in a file, which is made anew.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let mut device = self.device()?;
        if device.drive().has_lost_power() {
            return Err(PowerLossError::new_err((ENODEV, "save: the drive has lost power: expected that it recovers first")));
        }
        let drive = device.drive_mut();
        py.detach(|| save(drive, &path)).map_err(PyOSError::new_err)
    }

    fn summary(&self) -> PyResult<String> {
        Ok(self.device()?.drive().summary().to_string())
    }
}

impl Device {
    fn of(device: embed::Device) -> Device {
        Device { device: Mutex::new(device), raised: Arc::default() }
    }

    /// Returns the device, unless another call on it is under way: that of another thread, or the one in which a look
    /// was called.
    fn device(&self) -> PyResult<MutexGuard<'_, embed::Device>> {
        match self.device.try_lock() {
            Ok(device) => Ok(device),
            Err(TryLockError::Poisoned(device)) => Ok(device.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let text = "another call on the device is under way: expected one at a time, and none from a look at it";
                Err(InputError::new_err(text))
            }
        }
    }

    /// Returns the exception for an error of a call: that of a look, if one has stopped the call.
    fn raised(&self, error: &EmbedError) -> PyErr {
        let of_look = self.raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        of_look.unwrap_or_else(|| raised(error))
    }

    /// Serves one request. A command that failed is an exception.
    fn serve(&self, py: Python<'_>, request: Request<'_>) -> PyResult<Answer> {
        let mut device = self.device()?;
        let answer = device.serve(request).map_err(|error| self.raised(&error))?;
        match answer.status {
            Status::Success => Ok(Answer::of(py, answer)),
            Status::WriteProtected => Err(DeviceError::new_err((EROFS, "the drive has become read-only"))),
            Status::MediaError => Err(DeviceError::new_err((EIO, "data is lost: it could not be corrected"))),
            other => Err(DeviceError::new_err((EIO, format!("the command failed with the status {:#x} of NVMe", other.code())))),
        }
    }
}
