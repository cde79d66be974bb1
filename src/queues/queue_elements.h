// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <forebay/queue.h>

#include "queues/saver_memory.h"

/// Elements of queues: checked, taken from rows, joined to rows.
namespace forebay::queues {

/// Fails with every fault of the options.
[[nodiscard]] Result<void> check_options(const QueueOptions& options);

/// An element that the queue may keep: tensors without an owner are copied. Fails with Code::config for tensors that do
/// not fit the components.
[[nodiscard]] Result<QueueElement> own_element(const QueueOptions& options, QueueElement element);

/// The same of rows, [rows, shape…] each. The elements share the memory of the rows.
[[nodiscard]] Result<std::vector<QueueElement>> own_rows(const QueueOptions& options, QueueElement rows);

/// Fails with Code::config unless elements of that queue can be joined, and unless `count` is 0 or more.
[[nodiscard]] Result<void> check_joined(const QueueOptions& options, std::int64_t count);

/// The elements as tensors [elements, shape…]; unknown dims are padded with 0, false or "" to the largest. Throws
/// bad_alloc or length_error.
[[nodiscard]] std::vector<Tensor> join_rows(const QueueOptions& options, const std::vector<QueueElement>& elements,
                                            SaverMemory& memory);

}  // namespace forebay::queues
