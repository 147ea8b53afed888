// Lets a user stop a long calculation.
//
// Kernels know nothing of Python's signals: loops tell what they have done, and now and then the
// calling thread asks the check that the bindings have set.
#pragma once

namespace rankgrove {

// Throws if the calculation is to stop.
using InterruptCheck = void (*)();

void set_interrupt_check(InterruptCheck check);

// Tells of so much work, in nanoseconds, done by a thread that called into the library (not by a
// worker). Asks the check some twenty times a second.
void note_work(double nanoseconds);

}  // namespace rankgrove
