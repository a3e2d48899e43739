//! What an agent is told before it begins, and how a budget is shared between the parts of it.

use super::memory::named_values;

named_values! {
    /// The parts, in the order in which they come.
    Part {
        /// Standing orders, and preferences that no profile tells.
        Orders = "orders",
        /// Reminders that are due, open to a decision, or next.
        Reminders = "reminders",
        /// Who the user is.
        Profile = "profile",
        /// What bears on the question, or what is newest.
        Memories = "memories",
    }
}

/// How many items of each part, from its first on, cost at most `tokens_max` together: each part may
/// use an equal share, and what one leaves goes to the others in their order. What does not fit ends its
/// part, so that no item of less weight is told in place of one of more.
pub fn shared(parts: &[Vec<usize>], tokens_max: usize) -> Vec<usize> {
    let share = tokens_max / parts.iter().filter(|costs| !costs.is_empty()).count().max(1);
    let mut spent = 0;
    let mut n_told: Vec<usize> = Vec::with_capacity(parts.len());
    for costs in parts {
        let mut own = 0;
        let fits = |cost: &&usize| {
            own += **cost;
            own <= share
        };
        let n_fitting = costs.iter().take_while(fits).count();
        spent += costs.iter().take(n_fitting).sum::<usize>();
        n_told.push(n_fitting);
    }
    for (costs, n_told) in parts.iter().zip(&mut n_told) {
        for cost in costs.iter().skip(*n_told) {
            if spent + cost > tokens_max {
                break;
            }
            spent += cost;
            *n_told += 1;
        }
    }
    n_told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parts: &[&[usize]], tokens_max: usize, expected: &[usize]) {
        let parts: Vec<Vec<usize>> = parts.iter().map(|costs| costs.to_vec()).collect();
        assert_eq!(shared(&parts, tokens_max), expected, "{parts:?} in {tokens_max}");
    }

    #[test]
    fn each_part_has_its_share_and_what_one_leaves_goes_to_the_others_in_order() {
        check(&[&[10, 10], &[10]], 100, &[2, 1]);
        check(&[&[40, 40, 40], &[10, 40]], 100, &[1, 2]);
        check(&[&[40, 20, 20], &[10]], 100, &[3, 1]);
        check(&[&[40, 30, 30], &[]], 100, &[3, 0]);
        check(&[&[60], &[60]], 100, &[1, 0]);
        check(&[&[120], &[10, 50]], 100, &[0, 2]);
        check(&[&[], &[]], 100, &[0, 0]);
        check(&[&[1]], 0, &[0]);
        check(&[], 100, &[]);
    }

    #[test]
    fn no_budget_is_overrun() {
        for tokens_max in 0..200 {
            let parts = vec![vec![7, 30, 5], vec![90], vec![], vec![1; 60]];
            let told = shared(&parts, tokens_max);
            let spent: usize =
                parts.iter().zip(told).map(|(costs, n)| costs[..n].iter().sum::<usize>()).sum();
            assert!(spent <= tokens_max, "{spent} of {tokens_max}");
        }
    }
}
