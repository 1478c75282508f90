// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace lw::capture {

/// The number of a link type with libpcap's name, if it has one: "105 (IEEE802_11)".
std::string link_type_text(int link_type);

}  // namespace lw::capture
