//! Sessions that parties which aren't proven leave to others.

/// True if such a party may take one more session while others are there. `slow` sessions are used by parties like it,
/// or for long: one is left to the others, and two of eight or more.
pub(crate) const fn has_room(most: usize, slow: usize) -> bool {
    let reserve = if most >= 8 { 2 } else { 1 };
    most < 2 || slow + reserve < most
}

#[cfg(test)]
mod tests {
    use super::has_room;

    #[test]
    fn slow_parties_leave_one_session_of_few_and_two_of_many_while_others_are_there() {
        let most_of = |most: usize| (0..most).take_while(|slow| has_room(most, *slow)).count();
        assert_eq!([1, 2, 7, 8, 30].map(most_of), [1, 1, 6, 6, 28]);
    }
}
