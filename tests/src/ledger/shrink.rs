//! A failing history made short: greedy removal, by halves, then quarters, down to single steps.

/// The shortest history found that still `fails`, in at most `attempts` runs.
pub async fn shrink<T: Clone>(
    history: Vec<T>,
    attempts: usize,
    mut fails: impl AsyncFnMut(&[T]) -> bool,
) -> Vec<T> {
    let mut shortest = history;
    let mut left = attempts;
    let mut chunk = shortest.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        let mut has_shrunk = false;
        while start < shortest.len() && left > 0 {
            let end = (start + chunk).min(shortest.len());
            let without: Vec<T> =
                shortest.iter().take(start).chain(shortest.iter().skip(end)).cloned().collect();
            left -= 1;
            if fails(&without).await {
                shortest = without;
                has_shrunk = true;
            } else {
                start = end;
            }
        }
        // Single steps again as long as one of them could go.
        if !(chunk == 1 && has_shrunk) {
            chunk /= 2;
        }
        if left == 0 {
            break;
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::shrink;

    #[tokio::test]
    async fn what_does_not_matter_goes() {
        let history: Vec<u32> = (0..200).collect();
        let fails = async |steps: &[u32]| [17, 60, 199].iter().all(|step| steps.contains(step));
        assert_eq!(shrink(history.clone(), 1_000, fails).await, [17, 60, 199]);
        let few = shrink(history, 3, fails).await;
        assert!(fails(&few).await, "it fails whenever the search ends");
    }
}
