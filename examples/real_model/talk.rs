//! What somebody may have told an agent within a few weeks, in two languages.

use recalld::domain::memory::Kind;
use recalld::domain::scoring::Role;

/// Memories of a topic: their kind, and each with its day of November 2026.
pub type Topic = (Kind, &'static [(i8, &'static str)]);

/// Memories that belong together.
pub const TOPICS: [Topic; 8] = [
    (
        Kind::Event,
        &[
            (2, "The nightly backup of db-prod-2 failed at 03:10 because the disk was full."),
            (3, "Mara freed 40 GB on db-prod-2 so that the nightly backup has room again."),
            (9, "The nightly backup of db-prod-2 took 45 minutes instead of 20 minutes."),
            (12, "The nightly backup of db-prod-2 was slow again and took 50 minutes."),
            (17, "Mara moved the nightly backup of db-prod-2 to 01:30, before the report job."),
            (19, "The nightly backup of db-prod-2 has not failed since it runs at 01:30."),
        ],
    ),
    (
        Kind::Event,
        &[
            (4, "The roof of the boat shed in Bergen leaks above the workbench."),
            (5, "Jonas put a tarpaulin over the leaking roof of the boat shed."),
            (11, "The roofer looked at the boat shed and asks 1,800 euros for the leaking roof."),
            (14, "A second roofer asks 1,450 euros for the roof of the boat shed."),
            (20, "The second roofer begins with the roof of the boat shed on 7 December 2026."),
            (23, "Jonas cleared the boat shed so that the roofer can work on the roof."),
        ],
    ),
    (
        Kind::Fact,
        &[
            (3, "The payment service retries a failed webhook 5 times."),
            (3, "The payment service waits 30 seconds between two retries of a webhook."),
            (6, "Webhooks of the payment service are signed with HMAC-SHA256."),
            (6, "The payment service does not retry a webhook that was answered with 410."),
            (10, "Failed webhooks of the payment service land in the table webhook_dead_letter."),
            (13, "The payment service sends its webhooks from 10.20.0.0/24."),
        ],
    ),
    (
        Kind::Event,
        &[
            (7, "Nadia ran 8 km along the lake and her left knee hurt afterwards."),
            (10, "Nadia did not run this week because of her left knee."),
            (
                15,
                "Nadia saw a physiotherapist about her left knee, who blames the old running shoes.",
            ),
            (18, "Nadia bought new running shoes in size 39 for 129 euros."),
            (
                22,
                "Nadia ran 5 km along the lake in the new running shoes without pain in the knee.",
            ),
            (25, "Nadia signed up for the half marathon along the lake on 18 April 2027."),
        ],
    ),
    (
        Kind::Event,
        &[
            (2, "阳台上的番茄长了蚜虫，李娜用肥皂水喷了番茄。"),
            (5, "李娜又给阳台上的番茄喷了一次肥皂水，蚜虫少了。"),
            (8, "阳台上的番茄没有蚜虫了，李娜给番茄施了肥。"),
            (13, "李娜在阳台上摘了6个番茄，一共900克。"),
            (18, "阳台夜里只有4度，李娜把番茄搬进了屋里。"),
            (24, "搬进屋里以后，李娜的番茄又开花了。"),
        ],
    ),
    (
        Kind::Fact,
        &[
            (3, "订单接口的超时时间是3秒。"),
            (4, "订单接口超时以后最多重试2次。"),
            (6, "订单接口的日志写在 /var/log/orders/api.log 里。"),
            (9, "订单接口不接受超过2 MB的请求。"),
            (12, "订单接口的测试环境在10.8.3.21上。"),
            (16, "订单接口每分钟最多接受600个请求。"),
        ],
    ),
    (
        Kind::Preference,
        &[
            (2, "Prefers short answers without a summary at the end."),
            (6, "Wants code examples in Rust, never in Python."),
            (11, "Likes meetings before 11:00 and none on Fridays."),
            (16, "Drinks oolong tea and no coffee after lunch."),
        ],
    ),
    (
        Kind::Procedure,
        &[
            (4, "发布之前先在测试环境跑一遍全部测试。"),
            (9, "合并代码之前要有两个人看过。"),
            (15, "数据库的改动只在早上10点以前上线。"),
        ],
    ),
];

/// A conversation, as it was said.
pub const TALK: [(Role, &str); 18] = [
    (Role::User, "Hi, good morning!"),
    (Role::Assistant, "Good morning! What can I do for you?"),
    (Role::User, "I live in Bergen and work as a nurse at the Haukeland hospital."),
    (Role::Assistant, "Good to know. Bergen is rainy, isn't it?"),
    (
        Role::User,
        "Yes. My daughter Ida is allergic to peanuts, so never suggest recipes with peanuts.",
    ),
    (Role::Assistant, "I will keep that in mind."),
    (Role::User, "On 2026-12-12 we fly to Lisbon for nine days. The hotel is called Casa do Rio."),
    (Role::Assistant, "That sounds lovely."),
    (Role::User, "Thanks!"),
    (Role::User, "你好！我妈妈住在成都，她不吃辣。"),
    (Role::Assistant, "成都人不吃辣，很少见。"),
    (Role::User, "我每个星期三晚上七点学葡萄牙语。"),
    (Role::Assistant, "加油！"),
    (Role::User, "好的，谢谢。"),
    (
        Role::User,
        "The password reset of our ward's tablet did not work, I called the help desk twice.",
    ),
    (Role::Assistant, "What did they say?"),
    (Role::User, "They replaced the tablet on Monday. The new one has the number WT-0417."),
    (Role::Assistant, "Great, that is settled then."),
];

/// What is asked meanwhile.
pub const QUESTIONS: [&str; 5] = [
    "when does the backup of db-prod-2 run",
    "what does the roof of the boat shed cost",
    "李娜的番茄怎么样了",
    "how often is a webhook retried",
    "订单接口的超时时间",
];
