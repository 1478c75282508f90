// SPDX-License-Identifier: BSD-3-Clause
#include "config/nic/nic_profile.h"

#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "config/toml/settings.h"

namespace lw::config {

Result<void> load_nic_profile(const std::string& file, std::span<const NicTable> nic,
                              const NicTable& congestion) {
  auto document = Document::find(file, kNicProfiles);
  if (!document) return std::unexpected(document.error());
  const Table root = document->root();
  if (!root.has("nic")) root.refuse("expected a table [nic]");
  (void)root.get("title", read_text);
  if (const auto table = root.table("nic")) {
    for (const NicTable& each : nic) read_settings(*table, each.rows, each.object);
    table->finish();
  }
  if (const auto table = root.table("cc")) {
    read_settings(*table, congestion.rows, congestion.object);
    table->finish();
  }
  root.finish();
  return document->verdict();
}

}  // namespace lw::config
