//! Errors that LuaJIT's own functions raise from compiled code. Without the measures in `libraries/buffer.lua` and
//! `vm/load/sandbox.lua` these tests end with a segmentation fault.

use crate::support::{get, load_files};

fn run(body: &str) -> String {
    let source = format!(
        "local app = require 'sampan' local buffer = require 'string.buffer' app.get('/', function(req) {body} end)"
    );
    let limits = sampan_rig::patient_limits();
    let rig = load_files(&source, &[], limits).expect("loads");
    rig.text(get("/"))
}

/// Changes bytes of an encoded value, decodes it and reads what came out; 200,000 times.
fn corrupted(decode: &str) -> String {
    format!(
        "local source = buffer.encode({{ 1, 2, 'abc', {{ a = 1, b = {{ x = 9007199254740993LL }} }}, true, 1.5 }})
         local decode, decoded = {decode}, 0
         for seed = 1, 4 do
           math.randomseed(seed)
           for n = 1, 50000 do
             local at = math.random(#source)
             local text = source:sub(1, at - 1) .. string.char(math.random(0, 255)) .. source:sub(at + 1)
             if n % 3 == 0 then text = text:sub(1, math.random(#text)) end
             local ok, value = pcall(decode, text)
             if ok and type(value) == 'table' then
               for key, member in pairs(value) do tostring(key) tostring(member) end
               decoded = decoded + 1
             end
           end
         end
         return decoded > 1000 and 'done' or decoded"
    )
}

#[test]
fn corrupted_text_is_decoded_in_a_hot_loop() {
    assert_eq!(run(&corrupted("buffer.decode")), "done");
}

#[test]
fn corrupted_buffers_are_decoded_in_a_hot_loop() {
    let decode = "function(text) return buffer.new():put(text):decode() end";
    assert_eq!(run(&corrupted(decode)), "done");
    let decode = "(function() local b = buffer.new() return function(text) return b:set(text):decode() end end)()";
    assert_eq!(run(&corrupted(decode)), "done");
}

#[test]
fn tables_of_impossible_sizes_are_refused_in_a_hot_loop() {
    // A call that failed before leaves the program counter behind that LuaJIT would look at.
    let answer = run("local function make(sizes)
           local count, made = #sizes, 0
           pcall(setmetatable, 1)
           for at = 1, count do made = made + #table.new(sizes[at], 0) end
           return made
         end
         local sizes = {}
         for at = 1, 170 do sizes[at] = 4 end
         sizes[171] = 2 ^ 28
         local ok, message
         for _ = 1, 300 do ok, message = pcall(make, sizes) end
         return message");
    assert_eq!(
        answer,
        "app.lua:4: table.new: the sizes must be from 0 to 67108864"
    );
    let answer = run(
        "local out = {}
         for _, sizes in ipairs { { -1, 0 }, { 0, -1 }, { 0 / 0, 0 }, { 0, 2 ^ 40 }, { '268435456', 0 }, { 0, {} } } do
           out[#out + 1] = pcall(table.new, sizes[1], sizes[2])
         end
         out[#out + 1] = type(table.new('4', 2))
         return out",
    );
    assert_eq!(answer, "[false,false,false,false,false,false,\"table\"]");
}
