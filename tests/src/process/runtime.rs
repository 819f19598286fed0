//! A runtime for servers shared by several tests.

use std::sync::LazyLock;

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

/// Spawns on a runtime that lives as long as the process. A server that several tests share must not
/// run on the runtime of the test that happened to start it: `#[tokio::test]` gives each its own.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("harness").enable_all();
        builder.build().expect("a runtime for the harness's servers")
    });
    RUNTIME.spawn(task)
}
