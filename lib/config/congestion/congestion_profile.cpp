// SPDX-License-Identifier: BSD-3-Clause
#include "config/congestion/congestion_profile.h"

#include "config/toml/document.h"
#include "config/toml/profile_search.h"
#include "config/toml/settings.h"

namespace lw::config {

Result<void> load_congestion_profile(const std::string& file, const FigureTable& rows,
                                     void* object) {
  auto document = Document::find(file, kCongestionProfiles);
  if (!document) return std::unexpected(document.error());
  const Table root = document->root();
  if (!root.has("cc")) root.refuse("expected a table [cc]");
  (void)root.get("title", read_text);
  if (const auto table = root.table("cc")) {
    read_settings(*table, rows, object);
    table->finish();
  }
  root.finish();
  return document->verdict();
}

}  // namespace lw::config
