// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What the library of fake_cudart.cc has done since the last call of `fake_cuda`; the test that loaded it reads and
/// changes it, while no other thread calls the library.
struct FakeCuda {
  int devices;          ///< That the machine has.
  int current;          ///< Device of the thread that has set one last.
  int fails;            ///< The next copy fails with this error; 0: it does not.
  int begun;            ///< Copies that were put into a stream …
  int done;             ///< … and those that the "device" has done.
  int pinned;           ///< Page-locked buffers that were not freed.
  int memory;           ///< Blocks of device memory that were not freed.
  int streams;          ///< Streams that were not destroyed.
  int events;           ///< Events that were not destroyed.
  int synchronized;     ///< Calls that waited for the device.
  void* held_back;      ///< The stream that had to wait for an event last.
  void* freed_after;    ///< The stream after whose work memory was freed last.
  int registrations;    ///< Calls that have page-locked memory of the host.
  long registered;      ///< Bytes of it that are page-locked now …
  long max_registered;  ///< … and that the system allows; 0: any.
  int contexts;         ///< Devices that memory was locked for or that were made current: bit i for device i.
  int last_error;       ///< What the next cudaGetLastError of the program would give.
  int strict_captures;  ///< Calls that would break a graph that another thread captures.
};

/// Does the next `copies` copies.
using FakeCudaAdvance = void(int copies);
/// Makes a device the current one of the thread.
using FakeCudaSetDevice = int(int device);
/// Puts a copy into a stream.
using FakeCudaCopy = int(void* to, const void* from, unsigned long size, int kind, void* stream);
