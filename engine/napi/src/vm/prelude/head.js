// The prelude of an isolate: what scripts see of Sampan, around native functions. Its parts are put together into one function of `native`,
// in the order that `load.rs` lists.
"use strict";
const { isArray } = Array;
const { keys, hasOwn, create, defineProperty, getPrototypeOf, setPrototypeOf, assign } = Object;
const { apply } = Reflect;
const objectPrototype = Object.prototype;
const promiseThen = Promise.prototype.then;
const then = (promise, next, failed) => apply(promiseThen, promise, [next, failed]);
const resolved = Promise.resolve.bind(Promise);
const isPromise = (value) => typeof value === "object" && value instanceof Promise;
const { types } = native;

// What native code is told beside a value: its kind, the status of an answer, a number that stands for something that is kept here.
const meta = new Int32Array(native.meta);
const NOTHING = 0, TEXT = 1, JSON_TEXT = 2, HTML = 3, BYTES = 4, ANSWER = 5, STREAM = 6, FILE = 7, WAITS = 8;

// The platform's own classes, before ours take the places of some.
const { Request: PlatformRequest, Response: PlatformResponse, Headers, ReadableStream, Blob, FormData, URLSearchParams } = globalThis;

// Handlers by their numbers: functions, and the values of routes that have one.
const handlers = [];
