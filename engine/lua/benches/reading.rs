//! The cost of a row that reads 50 records of 4 texts where they lie: `cargo bench -p sampan-lua --bench reading`.

use sampan_host::Module;
use sampan_lua::Lua;

// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static MODULES: &[&Module] = &[&sampan_rig::READING];

const SOURCE: &str = "local app = require 'sampan'
local records = {}
for i = 1, 50 do records[i] = { name = 'Name ' .. i, city = 'City ' .. i, email = 'a' .. i .. '@b.org', note = 'note \
 ' .. i } end
app.get('/', function(req)
  local lengths, sum = app.reading.lengths, 0
  for i = 1, tonumber(req.query.times) do sum = sum + lengths(records) end
  return tostring(sum)
end)";

fn main() {
    let limits = sampan_rig::patient_limits();
    let files = [("app.lua", SOURCE)];
    let app = sampan_rig::load("app.lua", &files, MODULES, limits, Lua::load);
    sampan_rig::time_reading(&app.expect("the script loads"));
}
