// Interruption of long kernels by Ctrl-C.
//
// Kernels do not depend on Python's signals: loops report progress, and from time to time the
// calling thread calls the check that the bindings have set.
#pragma once

namespace rankgrove {

// Throws if the calculation is to stop.
using InterruptCheck = void (*)();

void set_interrupt_check(InterruptCheck check);

// Tells of so much work, in nanoseconds, done by a thread that called into the library (not by a
// worker). Asks the check some twenty times a second.
void note_work(double nanoseconds);

}  // namespace rankgrove
