// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the library of fake_cudart.cc has done; the test that loaded it reads and changes it.
struct FakeCuda {
  int devices;        ///< That the machine has.
  int current;        ///< Device of the thread.
  int fails;          ///< The next copy fails with this error; 0: it does not.
  int begun;          ///< Copies that were put into a stream …
  int done;           ///< … and those that the "device" has done.
  int pinned;         ///< Page-locked buffers that were not freed.
  int memory;         ///< Blocks of device memory that were not freed.
  int streams;        ///< Streams that were not destroyed.
  int events;         ///< Events that were not destroyed.
  int synchronized;   ///< Calls that waited for the device.
  void* held_back;    ///< The stream that had to wait for an event last.
  void* freed_after;  ///< The stream after whose work memory was freed last.
};

/// Does the next `copies` copies.
using FakeCudaAdvance = void(int copies);
