// SPDX-License-Identifier: BSD-3-Clause
#include "capture/link_names.h"

#include <fmt/format.h>
#include <pcap/pcap.h>

namespace lw::capture {

std::string link_type_text(int link_type) {
  const char* const name = pcap_datalink_val_to_name(link_type);
  return name != nullptr ? fmt::format("{} ({})", link_type, name) : std::to_string(link_type);
}

}  // namespace lw::capture
