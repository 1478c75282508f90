// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/plan_names.h"

#include <vector>

#include <fmt/format.h>

#include "core/names.h"

namespace lw::gen::otg {

std::optional<std::size_t> find_name(const Names& names, const std::string& name,
                                     const std::string& path, const char* what,
                                     ModelReader& reader) {
  const auto found = names.find(name);
  if (found != names.end()) return found->second;
  std::vector<std::string_view> all;
  for (const auto& [each, index] : names) all.push_back(each);
  const std::string_view near = nearest(name, all);
  reader.refuse(path, fmt::format("expected the name of a {}, found \"{}\"{}", what, excerpt(name),
                                  near.empty() ? "" : fmt::format(": is it \"{}\"?", near)));
  return std::nullopt;
}

void add_name(Names& names, const std::string& name, std::size_t index, const std::string& path,
              ModelReader& reader) {
  if (!names.emplace(name, index).second)
    reader.refuse(path, fmt::format("expected another name than \"{}\", which is there already",
                                    excerpt(name)));
}

}  // namespace lw::gen::otg
