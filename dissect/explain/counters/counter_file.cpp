// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/explain/counters/counter_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/input.h"
#include "core/json.h"
#include "dissect/explain/counters/counter_table.h"
#include "dissect/limits.h"

namespace lw::dissect {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::optional<std::uint64_t> counter_value(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// A value of Prometheus: "1.2e+06".
std::optional<std::uint64_t> metric_value(std::string_view text) {
  if (const auto whole = counter_value(text)) return whole;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double kMost = 9.2e18;
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= 0 && value < kMost))
    return {};
  return static_cast<std::uint64_t>(std::llround(value));
}

bool is_counter_name(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == ' ';
  };
  return !text.empty() && !counter_value(text) && std::ranges::all_of(text, fits);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

/// The part of a path behind "/name/", up to the next slash; empty: there is none.
std::string_view part_behind(std::string_view path, std::string_view name) {
  const std::size_t at = path.find(name);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = path.substr(at + name.size());
  return rest.substr(0, rest.find('/'));
}

/// "mlx5_0/1" of ".../infiniband/mlx5_0/ports/1/hw_counters/NAME"; "eth0" of ".../net/eth0/...".
std::string port_of_path(std::string_view path) {
  const std::string_view device = part_behind(path, "infiniband/");
  if (device.empty()) return std::string(part_behind(path, "net/"));
  const std::string_view port = part_behind(path, "ports/");
  return port.empty() ? std::string(device) : fmt::format("{}/{}", device, port);
}

/// Reads a file's lines, of any form but JSON.
class CounterLines {
 public:
  /// Returns whether the line has a counter.
  bool read(std::string_view line) {
    if (line.starts_with("node_")) return read_metric(line);
    if (line == "NIC statistics:") {
      begin_section();
      return false;
    }
    if (read_pair(line) || read_words(line)) return true;
    title_ = words_of(line).size() == 1 ? line : std::string_view{};
    return false;
  }
  [[nodiscard]] DeviceCounters release_counters() { return std::move(all_); }

 private:
  /// What `ethtool -S` prints of a device: its name is the line before, if it is a single word.
  void begin_section() {
    ++sections_;
    if (title_.ends_with(':')) title_.remove_suffix(1);
    port_ = !title_.empty() ? std::string(title_)
            : sections_ > 1 ? fmt::format("device {}", sections_)
                            : std::string();
    title_ = {};
  }

  /// "PATH/NAME:12", "NAME: 12". `NIC statistics of eth0:` names no counter, but a port.
  bool read_pair(std::string_view line) {
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) return false;
    std::string_view name = without_blanks(line.substr(0, colon));
    std::string port = port_;
    if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) {
      port = port_of_path(name);
      name = name.substr(slash + 1);
    }
    const auto value = counter_value(without_blanks(line.substr(colon + 1)));
    if (!value || !is_counter_name(name)) return false;
    all_[port][std::string(name)] += *value;
    return true;
  }

  /// "link mlx5_0/1 NAME 12 NAME 12", "NAME 12". A name may have several words.
  bool read_words(std::string_view line) {
    std::vector<std::string_view> words = words_of(line);
    if (words.size() > 1 && words[0] == "link") {
      port_ = words[1];
      words.erase(words.begin(), words.begin() + 2);
    }
    bool any = false;
    std::string name;
    for (const std::string_view word : words) {
      const auto value = counter_value(word);
      if (value && is_counter_name(name)) {
        all_[port_][name] += *value;
        name.clear();
        any = true;
      } else {
        name += (name.empty() ? "" : " ") + std::string(word);
      }
    }
    return any;
  }

  /// node_infiniband_NAME{device="mlx5_0",port="1"} 12, node_ethtool_NAME{device="eth0"} 12
  bool read_metric(std::string_view line) {
    const std::size_t brace = line.find('{'), end = line.rfind('}');
    if (brace == std::string_view::npos || end == std::string_view::npos) return false;
    const auto value = metric_value(without_blanks(line.substr(end + 1)));
    std::string_view name = line.substr(0, brace);
    constexpr std::string_view kPrefixes[] = {"node_infiniband_", "node_ethtool_",
                                              "node_amazonefa_", "node_network_"};
    const auto prefix = std::ranges::find_if(
        kPrefixes, [name](std::string_view one) { return name.starts_with(one); });
    if (prefix == std::end(kPrefixes)) return false;  // of something else
    name.remove_prefix(prefix->size());
    if (!value || !is_counter_name(name)) return false;
    const std::string_view labels = line.substr(brace + 1, end - brace - 1);
    const std::string_view device = label_of(labels, "device"), port = label_of(labels, "port");
    all_[port.empty() ? std::string(device) : fmt::format("{}/{}", device, port)]
        [std::string(driver_name(name))] += *value;
    return true;
  }

  static std::string_view label_of(std::string_view labels, std::string_view name) {
    const std::size_t at = labels.find(fmt::format("{}=\"", name));
    if (at == std::string_view::npos) return {};
    const std::string_view rest = labels.substr(at + name.size() + 2);
    return rest.substr(0, rest.find('"'));
  }

  DeviceCounters all_;
  std::string port_;          // that the lines which name none belong to
  std::string_view title_;    // the newest line, if it is a single word without a counter
  std::size_t sections_ = 0;  // of `ethtool -S`
};

/// `rdma -j statistic show`: a list of objects, one a port.
DeviceCounters parse_json_counters(std::string_view text) {
  const auto list = parse_json(text);
  DeviceCounters all;
  if (!list.is_array()) return all;
  for (const auto& link : list) {
    if (!link.is_object()) continue;
    const auto name = link.find("ifname");
    const auto number = link.find("port");
    std::string port = name != link.end() && name->is_string() ? name->get<std::string>() : "";
    if (number != link.end() && number->is_number_unsigned())
      port += fmt::format("/{}", number->get<std::uint64_t>());
    for (const auto& [key, value] : link.items())
      if (value.is_number_unsigned() && key != "port" && key != "ifindex")
        all[port][key] += value.get<std::uint64_t>();
  }
  return all;
}

std::unexpected<Error> no_counter(std::string_view other, std::size_t number,
                                  const std::string& name) {
  constexpr std::size_t kShown = 60;
  return fail(fmt::format(
      "{}:{}: expected counters as `grep . /sys/class/infiniband/*/ports/*/hw_counters/*`, "
      "`ethtool "
      "-S`, `rdma statistic show` (with -j or without) or node_exporter print them, such as "
      "\"out_of_sequence: 12\", found {}",
      name, std::max<std::size_t>(number, 1),
      other.empty() ? "an empty file" : fmt::format("\"{}\"", other.substr(0, kShown))));
}

}  // namespace

Result<DeviceCounters> parse_port_counters(std::string_view text, const std::string& name) {
  CounterLines lines;
  std::size_t number = 0, first_other = 0;
  std::string_view other;
  if (without_blanks(text).starts_with('['))
    if (DeviceCounters all = parse_json_counters(text); !all.empty()) return all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = without_blanks(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#') || lines.read(line) || first_other != 0) continue;
    first_other = number;
    other = line;
  }
  DeviceCounters all = lines.release_counters();
  if (all.empty()) return no_counter(other, first_other, name);
  return all;
}

Result<DeviceCounters> read_port_counters(const std::string& path) {
  const auto text = read_input_file(path, kLongestCounters);
  if (!text) return std::unexpected(text.error());
  return parse_port_counters(*text, path);
}

CounterDifferences differences_of(const DeviceCounters& before, const DeviceCounters& after) {
  CounterDifferences all;
  for (const auto& [port, counters] : after) {
    const auto old = before.find(port);
    for (const auto& [name, value] : counters) {
      std::uint64_t start = 0;
      if (old != before.end())
        if (const auto known = old->second.find(name); known != old->second.end())
          start = known->second;
      if (value < start)
        all.reset[port].push_back(name);
      else
        all.risen[port][name] = value - start;
    }
  }
  return all;
}

}  // namespace lw::dissect
