//! The statements that a server runs again and again.

use super::given_back::{CANCELLED, GIVE_BACK, PUT_OFF};
use super::status::STATUS;
use super::taking::{READY, TAKE};
use super::{
    AGAIN, ANY_LATER, ANY_READY, ARGS, DIE, EXPIRED, EXTEND, KEEP_DONE, NEXT_DUE, OF_KEY, PROGRESS,
    PROMOTE, PRUNE, REMOVE, SET_ARGS, SHORTEN, TOKENS, rates, strays,
};

/// The statements on the table of jobs that a server runs again and again. None may look at all rows.
pub const SERVER_STATEMENTS: [&str; 31] = [
    OF_KEY,
    ANY_READY,
    CANCELLED,
    NEXT_DUE,
    PROMOTE,
    READY,
    ARGS,
    SET_ARGS,
    TAKE,
    TOKENS,
    EXTEND,
    EXPIRED,
    ANY_LATER,
    SHORTEN,
    REMOVE,
    KEEP_DONE,
    AGAIN,
    DIE,
    GIVE_BACK,
    PUT_OFF,
    PROGRESS,
    PRUNE,
    STATUS,
    strays::QUEUES,
    strays::MOVE,
    rates::FORGET,
    rates::AHEAD,
    rates::FORGET_AHEAD,
    rates::COUNTED,
    rates::NOTE,
    rates::GIVE_BACK,
];
