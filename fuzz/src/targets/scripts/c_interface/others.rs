//! Calls with handles that stand for nothing, a server that is never started, and scripts with options that may be wrong.

use super::{JS, LUA, Program, blank, ignored, options};
use sampan_c::*;
use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

impl Program<'_> {
    /// A server that is never started.
    pub(super) fn serve(&mut self) {
        let mut server = 0;
        let options = sampan_server_options {
            size: size_of::<sampan_server_options>(),
            log: Some(ignored),
            ..blank()
        };
        let tag = self.choices.one_of(&[0, 7, SAMPAN_TAG_GONE]);
        let pattern = self.choices.until(b'\n');
        let pattern: Vec<u8> = pattern.iter().copied().filter(|byte| *byte != 0).collect();
        let pattern = CString::new(pattern).expect("no NUL is left");
        let mut text = [0; 64];
        let (mut buffer, mut len) = ([0_u64; 8], 0);
        let entries = self.choices.until(b'\n').to_vec();
        // SAFETY: all texts and places live until the end of this function, and have the lengths that are said.
        unsafe {
            assert_eq!(
                sampan_server_new(&raw const options, &raw mut server, null_mut()),
                SAMPAN_OK
            );
            let route =
                || sampan_server_queue_route(server, null(), pattern.as_ptr(), tag, null_mut());
            let first = route();
            assert!(
                tag != SAMPAN_TAG_GONE || first == SAMPAN_ERROR_ARGUMENT,
                "{first}"
            );
            assert!(
                matches!(first, SAMPAN_OK | SAMPAN_ERROR_ARGUMENT),
                "{first}"
            );
            assert_eq!(
                route(),
                SAMPAN_ERROR_ARGUMENT,
                "a route that is there twice"
            );
            assert_eq!(
                sampan_server_address(server, 0, text.as_mut_ptr(), text.len()),
                SAMPAN_ERROR_STATE
            );
            let next = sampan_server_next(
                server,
                0,
                buffer.as_mut_ptr().cast(),
                size_of_val(&buffer),
                &raw mut len,
            );
            assert_eq!((next, len), (SAMPAN_TIMEOUT, 0));
            let mut answers = entries;
            let answered = sampan_server_answer(server, answers.as_mut_ptr().cast(), answers.len());
            assert!(
                matches!(answered, SAMPAN_OK | SAMPAN_ERROR_ARGUMENT),
                "{answered}"
            );
            assert_eq!(sampan_server_stop(server, null_mut()), SAMPAN_ERROR_STATE);
        }
        assert_eq!(sampan_server_free(server), SAMPAN_OK);
        assert_eq!(sampan_server_free(server), SAMPAN_ERROR_HANDLE);
        self.freed.push(server);
    }

    /// All functions with a handle that stands for nothing, or for something else.
    pub(super) fn ask_nothing(&mut self) {
        let others = [&self.freed[..], &self.replies].concat();
        let nothing = others[self.choices.below(others.len().min(256))];
        let (mut reply, mut len, mut stream) = (blank::<sampan_reply>(), 0, 0);
        let (mut buffer, mut text) = ([0_u64; 8], [0; 16]);
        let response = sampan_response {
            status: 200,
            ..blank()
        };
        let request = blank::<sampan_request>();
        let size = size_of_val(&buffer);
        let place: *mut c_void = buffer.as_mut_ptr().cast();
        // SAFETY: all places are this function's, and have the lengths that are said.
        let found = unsafe {
            [
                sampan_scripts_call(
                    nothing,
                    c"echo".as_ptr(),
                    null(),
                    0,
                    0,
                    &raw mut reply,
                    null_mut(),
                ),
                sampan_scripts_handle(nothing, &raw const request, 0, &raw mut reply, null_mut()),
                sampan_scripts_submit(nothing, place, 0, &raw mut len),
                sampan_scripts_next(nothing, 0, place, size, &raw mut len),
                sampan_scripts_cancel(nothing, 1),
                sampan_scripts_reload(nothing, null_mut()),
                sampan_scripts_free(nothing),
                sampan_server_queue_route(nothing, null(), c"/".as_ptr(), 0, null_mut()),
                sampan_server_start(nothing, null_mut()),
                sampan_server_address(nothing, 0, text.as_mut_ptr(), text.len()),
                sampan_server_reload(nothing, null_mut()),
                sampan_server_stop(nothing, null_mut()),
                sampan_server_free(nothing),
                sampan_server_next(nothing, 0, place, size, &raw mut len),
                sampan_server_answer(nothing, place, 0),
                sampan_answer(nothing, &raw const response),
                sampan_answer_begin(nothing, &raw const response, &raw mut stream),
                sampan_stream_write(nothing, null(), 0, 0),
                sampan_stream_end(nothing, 1),
            ]
        };
        assert_eq!(found, [SAMPAN_ERROR_HANDLE; 19], "{nothing:x}");
    }

    /// Scripts with options that may be wrong.
    pub(super) fn load_and_free(&mut self) {
        let wrong = self.choices.below(7);
        let setting = self.choices.until(b'\n');
        let setting: Vec<u8> = setting.iter().copied().filter(|byte| *byte != 0).collect();
        let setting = CString::new(setting).expect("no NUL is left");
        let settings = [setting.as_ptr()];
        let name = [c"app.lua", c"app.js"][wrong % 2].to_owned();
        let text = [LUA, JS][wrong % 2];
        let (mut scripts, mut error) = (u64::MAX, blank::<sampan_error>());
        let mut options = options(&name, text, &settings[..usize::from(wrong == 6)]);
        match wrong {
            2 => options.size -= 1,
            3 => options.path = name.as_ptr(),
            4 => options.name = null(),
            5 => options.text_len -= 3,
            _ => {}
        }
        // SAFETY: all that `options` points to lives until the end of this function, and the places are its own.
        let status =
            unsafe { sampan_scripts_new(&raw const options, &raw mut scripts, &raw mut error) };
        assert_eq!(error.code, status);
        match wrong {
            0 | 1 => assert_eq!(status, SAMPAN_OK),
            2..=4 => assert_eq!(status, SAMPAN_ERROR_ARGUMENT),
            5 => assert!(status == SAMPAN_ERROR_LOAD && error.line > 0, "{status}"),
            _ => assert!(matches!(
                status,
                SAMPAN_OK | SAMPAN_ERROR_CONFIG | SAMPAN_ERROR_ARGUMENT | SAMPAN_ERROR_LOAD
            )),
        }
        if status == SAMPAN_OK {
            assert_eq!(sampan_scripts_free(scripts), SAMPAN_OK);
            assert_eq!(sampan_scripts_free(scripts), SAMPAN_ERROR_HANDLE);
            self.freed.push(scripts);
        } else {
            assert_eq!(scripts, 0, "a handle beside {status}");
        }
    }
}
