// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/record.h"

namespace lw::capture {

/// Takes the header of Endace's extensible record format (LINKTYPE_ERF), its extension headers and
/// the FCS off a record of an Ethernet frame, and sets `inner_link_type` to Ethernet. A record of
/// another kind, or one that ends within its headers, stays as it is, with ERF as its type.
void unwrap_erf(Record& record) noexcept;

}  // namespace lw::capture
