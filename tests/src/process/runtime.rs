//! A runtime for servers shared by several tests.

use std::sync::LazyLock;

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

/// Spawns a task on a runtime that lives as long as the process. A server shared by several tests mustn't run on the
/// runtime of the test that started it: each `#[tokio::test]` has its own runtime.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).thread_name("harness").enable_all();
        builder.build().expect("a runtime for the harness's servers")
    });
    RUNTIME.spawn(task)
}
