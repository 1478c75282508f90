// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/flow/profile.h"

namespace lw::config {

class Table;

// Errors are recorded in the table's document. Call both after read_message().

/// Reads the fields of the BTH and of all extension headers, and the messages' memory addresses.
void read_headers(const Table& table, Flow& flow);

/// Gives all messages of a flow one size, in bytes, as if its profile had that `message_size`.
/// Error: the flow can't have messages of that size; it is then not usable.
Parsed<void> set_message_size(Flow& flow, std::uint64_t size);

/// Refuses keys that have no effect on the flow's frames, such as an immediate of a plain SEND.
void check_unused_keys(const Table& table, const Flow& flow);

}  // namespace lw::config
