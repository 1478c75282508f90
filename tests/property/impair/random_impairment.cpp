// SPDX-License-Identifier: BSD-3-Clause
#include "property/impair/random_impairment.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/impair/profile.h"
#include "roce/compose.h"
#include "support/path_frames.h"
#include "wire/pfc.h"

namespace lw::test {
namespace {

using emulator::Direction;

constexpr const char* kDelays = "histogram.csv";
constexpr const char* kTrace = "trace.csv";

std::string percent(Draw& draw) {
  return fmt::format("\"{}%\"", draw.one_of({0, 1, 5, 20, 50, 100}));
}
std::string some_percent(Draw& draw) {
  return fmt::format("\"{}%\"", draw.one_of({2, 10, 30, 60}));
}
std::string microseconds(Draw& draw, std::uint64_t low, std::uint64_t high) {
  return fmt::format("\"{}ns\"", draw.between(low * 1000, high * 1000));
}
std::string rate(Draw& draw) { return fmt::format("\"{}Mb/s\"", draw.between(100, 4000)); }
std::string overhead(Draw& draw) { return draw.chance(30) ? ", overhead = \"0B\"" : ""; }

std::string police(Draw& draw) {
  return fmt::format("{{ rate = {}, burst = \"{}B\"{} }}", rate(draw), draw.between(2000, 20'000),
                     overhead(draw));
}

std::string loss(Draw& draw) {
  switch (draw.below(10)) {
    case 7:
      return fmt::format(R"({{ model = "correlated", probability = {}, correlation = {} }})",
                         some_percent(draw), some_percent(draw));
    case 0:
      return fmt::format(
          R"({{ model = "gilbert-elliott", p = {}, r = {}, bad_loss = {}, good_loss = {} }})",
          some_percent(draw), some_percent(draw), percent(draw), percent(draw));
    case 1:
      return fmt::format(R"({{ model = "four-state", p13 = "{}%", p31 = "30%", p32 = "5%", )"
                         R"(p23 = "40%", p14 = "{}%" }})",
                         draw.between(1, 50), draw.between(0, 20));
    case 2:
      return fmt::format(R"({{ model = "bursts", begin = {}, length = [{}, {}] }})",
                         some_percent(draw), draw.between(1, 3), draw.between(3, 6));
    case 3:
      return fmt::format(R"({{ model = "every", nth = {} }})", draw.between(1, 30));
    case 4:
      return R"({ model = "pattern", bits = "0001001" })";
    case 5:
      return R"({ model = "bit-errors", rate = 1e-4 })";
    case 6:
      return fmt::format(R"({{ model = "listed", frames = [{}, {}] }})", draw.below(20),
                         draw.between(20, 90));
    default:
      return percent(draw);
  }
}

std::string corrupt(Draw& draw) {
  if (draw.chance(20)) return percent(draw);
  std::string text = fmt::format("{{ probability = {}", percent(draw));
  if (draw.chance(20)) text += fmt::format(", correlation = {}", some_percent(draw));
  if (draw.chance(50)) text += fmt::format(", bits = {}", draw.between(1, 64));
  if (draw.chance(20)) return text + R"(, part = "udp-checksum" })";
  if (draw.chance(50)) text += fmt::format(R"(, part = "{}")", draw.one_of({"packet", "frame"}));
  if (draw.chance(50)) text += fmt::format(", offset = {}", draw.one_of({0, 4, 12, 60, 400, 9000}));
  if (draw.chance(50))
    text += fmt::format(R"(, icrc = "{}")", draw.one_of({"wrong", "recomputed"}));
  return text + " }";
}

std::string duplicate(Draw& draw) {
  if (draw.chance(40)) return some_percent(draw);
  return fmt::format("{{ probability = {}, copies = {} }}", some_percent(draw),
                     draw.one_of({1, 2, 3, 16}));
}

std::string mark(Draw& draw) {
  if (draw.chance(30)) return percent(draw);
  if (draw.chance(50))
    return fmt::format("{{ probability = {}, force = {} }}", percent(draw), draw.chance(50));
  if (draw.chance(50))
    return fmt::format(
        R"({{ kmin = "{}B", kmax = "{}B", profile = "step", pmin = {}, at = "{}" }})",
        draw.between(0, 3000), draw.between(3000, 9000), percent(draw),
        draw.one_of({"arrival", "departure"}));
  return fmt::format(R"({{ kmin = "{}B", kmax = "{}B", pmax = {}, not_ect = "{}" }})",
                     draw.between(0, 3000), draw.between(3000, 9000), percent(draw),
                     draw.one_of({"pass", "drop"}));
}

std::string rewrite(Draw& draw) {
  return fmt::format(R"({{ probability = {}, dscp = {}, ecn = "{}" }})", some_percent(draw),
                     draw.below(64), draw.one_of({"not-ect", "ect0", "ect1", "ce"}));
}

std::string slot(Draw& draw) {
  const std::string frames =
      draw.chance(50) ? fmt::format(", frames = {}", draw.between(1, 9)) : "";
  return fmt::format(R"({{ min = {}, max = "40us"{} }})", microseconds(draw, 1, 20), frames);
}

std::string accumulate(Draw& draw) {
  return fmt::format("{{ frames = {}, time = {} }}", draw.between(2, 9), microseconds(draw, 1, 60));
}

std::string queue(Draw& draw) {
  std::string pfc;
  if (draw.chance(50))
    pfc = fmt::format(R"(, pfc = {{ priority = {}, xoff = "{}B", xon = "{}B", link = "{}" }})",
                      draw.between(2, 4), draw.between(2000, 4000), draw.between(0, 1900),
                      draw.one_of({"10Gb/s", "100Gb/s"}));
  const std::string cells = draw.chance(20) ? ", cell = \"48B\", cell_overhead = \"5B\"" : "";
  return fmt::format("{{ rate = {}, buffer = \"{}B\"{}{}{} }}", rate(draw),
                     draw.between(4000, 60'000), overhead(draw), cells, pfc);
}

std::string delay(Draw& draw) { return draw.chance(10) ? "\"0us\"" : microseconds(draw, 0, 200); }

std::string half_life(Draw& draw) {
  return draw.chance(40) ? fmt::format(", half_life = {}", microseconds(draw, 1, 400)) : "";
}

std::string jitter(Draw& draw, const std::filesystem::path& folder) {
  const std::string wander = half_life(draw);
  switch (draw.below(8)) {
    case 0:
      return fmt::format(R"({{ distribution = "normal", mean = {}, deviation = {}{} }})",
                         microseconds(draw, 0, 40), microseconds(draw, 1, 9), wander);
    case 1:
      return fmt::format(R"({{ distribution = "exponential", mean = {}{} }})",
                         microseconds(draw, 1, 20), wander);
    case 2:
      return fmt::format(R"({{ distribution = "gamma", shape = {}, scale = "2us"{} }})",
                         draw.one_of({0.5, 1.0, 4.0}), wander);
    case 3:
      return fmt::format(R"({{ distribution = "pareto", shape = 2.5, minimum = "5us"{} }})",
                         wander);
    case 4:
      return fmt::format(R"({{ distribution = "lognormal", median = "10us", sigma = 0.5{} }})",
                         wander);
    case 5:
      return fmt::format(R"({{ distribution = "histogram", file = "{}"{} }})",
                         (folder / kDelays).string(), wander);
    default:
      return fmt::format(R"({{ distribution = "uniform", low = "0us", high = {}{} }})",
                         microseconds(draw, 1, 60), wander);
  }
}

std::string trace(Draw& draw, const std::filesystem::path& folder) {
  return fmt::format(R"({{ file = "{}"{} }})", (folder / kTrace).string(),
                     draw.chance(50) ? R"(, period = "400us")" : "");
}

std::string reorder(Draw& draw) {
  const std::string fraction = fmt::format("{{ fraction = {}, ", some_percent(draw));
  const std::string at_most =
      draw.chance(50) ? fmt::format(", at_most = {}", microseconds(draw, 1, 90)) : "";
  switch (draw.below(5)) {
    case 4:
      return fmt::format(R"({}distribution = "exponential", mean = {} }})", fraction,
                         microseconds(draw, 1, 60));
    case 0:
      return fmt::format("{}frames = {}{} }}", fraction, draw.between(1, 5), at_most);
    case 2:
      return fmt::format("{}ahead = true, gap = {} }}", fraction, draw.between(1, 5));
    case 1:
      return fmt::format("{}time = {} }}", fraction, microseconds(draw, 1, 60));
    default:
      return fmt::format("{}swap = true{} }}", fraction, at_most);
  }
}

/// Keys of a rule, in TOML.
using Keys = std::map<std::string, std::string>;

/// A schedule of times, or of frames.
std::string when(Draw& draw) {
  if (draw.chance(50))
    return fmt::format("{{ every = {}, for = {}, from = {} }}", draw.between(4, 20),
                       draw.between(1, 3), draw.below(20));
  return fmt::format("{{ for = {}, from = {} }}", microseconds(draw, 1, 60),
                     microseconds(draw, 1, 60));
}

/// Each stage with this probability; `waits`: with no stage that makes releases vary.
Keys draw_stages(Draw& draw, unsigned likely, bool waits, const std::filesystem::path& folder) {
  Keys keys;
  if (draw.chance(likely)) keys["police"] = police(draw);
  if (draw.chance(likely)) keys["loss"] = loss(draw);
  if (draw.chance(likely)) keys["corrupt"] = corrupt(draw);
  if (draw.chance(likely)) keys["duplicate"] = duplicate(draw);
  if (draw.chance(likely / 2)) keys["limit"] = fmt::format("{}", draw.between(1, 40));
  if (draw.chance(likely / 2)) keys["rewrite"] = rewrite(draw);
  if (draw.chance(likely)) keys["mark"] = mark(draw);
  if (draw.chance(likely + 30)) keys["delay"] = delay(draw);
  if (waits) return keys["delay"] = microseconds(draw, 1, 90), keys;
  if (draw.chance(likely)) keys["queue"] = queue(draw);
  if (draw.chance(likely / 2)) keys["slot"] = slot(draw);
  if (draw.chance(likely)) keys["jitter"] = jitter(draw, folder);
  if (draw.chance(likely / 2)) keys["trace"] = trace(draw, folder);
  if (draw.chance(likely)) keys["reorder"] = reorder(draw);
  if (!keys.contains("reorder") && draw.chance(likely / 2)) keys["accumulate"] = accumulate(draw);
  if (draw.chance(likely / 2)) keys["order"] = "\"free\"";
  for (const std::string stage :
       {"loss", "corrupt", "duplicate", "rewrite", "mark", "delay", "reorder"})
    if (keys.contains(stage) && draw.chance(likely / 3)) keys["when." + stage] = when(draw);
  return keys;
}

std::string draw_match(Draw& draw) {
  switch (draw.below(9)) {
    case 0:
      return "match = \"all\"\n";
    case 1:
      return fmt::format("match = {{ dst_qp = \"{}-{}\" }}\n", 17, draw.between(17, 20));
    case 2:
      return fmt::format("match = {{ kind = \"{}\" }}\n", draw.one_of({"request", "ack", "cnp"}));
    case 3:
      return fmt::format("match = {{ psn = \"{}-{}\" }}\n", draw.below(20), draw.between(20, 90));
    case 4:
      return "match = { filter = \"udp\" }\n";
    case 5:
      return "match = { vlan = 5, frames = \"all\" }\n";
    case 6:
      return fmt::format("match = {{ dscp = \"0-{}\" }}\n", draw.between(0, 26));
    default:
      return "";
  }
}

std::string draw_direction(Draw& draw) {
  return draw.chance(30)
             ? fmt::format("direction = \"{}\"\n", draw.one_of({"west-to-east", "east-to-west"}))
             : "";
}

std::string draw_event(Draw& draw, std::size_t i) {
  const std::string action = draw.one_of({"drop", "mark", "corrupt", "delay", "duplicate"});
  std::string text = fmt::format("[[event]]\nname = \"e{}\"\naction = \"{}\"\n", i, action);
  if (action == "delay") text += fmt::format("delay = {}\n", microseconds(draw, 0, 50));
  if (draw.chance(40))
    text += fmt::format("qp = {}\n", draw.between(1, 4));
  else if (draw.chance(50))
    text += fmt::format("qpn = {}\n", draw.between(17, 20));
  const bool request = draw.chance(60);
  if (!request) text += fmt::format("on = \"{}\"\n", draw.one_of({"ack", "cnp", "read_response"}));
  if (request && draw.chance(60))
    text += draw.chance(50) ? fmt::format("psn = \"{}-{}\"\n", draw.below(10), draw.between(10, 30))
                            : fmt::format("psn_offset = {}\n", draw.below(12));
  if (draw.chance(50))
    text += fmt::format("occurrence = [{}, {}]\n", draw.between(1, 2), draw.between(3, 9));
  return text + draw_direction(draw);
}

/// Lets the rules share the queue of the first one, in several classes.
void share_queue(std::vector<Keys>& rules, Draw& draw) {
  const std::uint64_t classes = draw.between(1, 3);
  std::string listed;
  for (std::uint64_t c = 0; c < classes; ++c)
    listed += fmt::format("{}{} = {{ priority = {}, weight = {}, alpha = {} }}", c > 0 ? ", " : "",
                          c, draw.below(2), draw.between(1, 5), draw.one_of({0.25, 1.0, 8.0}));
  for (Keys& rule : rules) {
    rule.erase("trace");  // its rates
    const std::string queue =
        &rule == rules.data()
            ? fmt::format("rate = {}, buffer = \"{}B\"{}, classes = {{ {} }}", rate(draw),
                          draw.between(4000, 60'000), overhead(draw), listed)
            : "shared = \"r0\"";
    if (&rule == rules.data() || draw.chance(70))
      rule["queue"] = fmt::format("{{ {}, class = {} }}", queue, draw.below(classes));
  }
}

/// A change while frames come, within `microseconds_long`.
std::string draw_act(Draw& draw, std::size_t rules, std::uint64_t microseconds_long, bool waits,
                     bool shares, const std::filesystem::path& folder) {
  const std::uint64_t at = draw.between(1, microseconds_long);
  if (shares && draw.chance(30))
    return fmt::format(
        "[[at]]\ntime = \"{}us\"\nrule = \"r0\"\nset = {{ queue.rate = {}, "
        "queue.classes.0.weight = {} }}\n",
        at, rate(draw), draw.between(1, 5));
  if (draw.chance(25))
    return fmt::format("[[flap]]\nport = \"{}\"\ntime = \"{}us\"\ndown = \"{}us\"\n",
                       draw.one_of({"west", "east", "both"}), at, draw.between(5, 120));
  if (draw.chance(15))
    return fmt::format("[[at]]\ntime = \"{}us\"\nset = {{ outage = {} }}\n", at, draw.chance(60));
  std::vector<std::string> sets;
  for (const auto& [key, value] : draw_stages(draw, 25, waits, folder))
    if (!shares || (key != "queue" && key != "trace"))
      sets.push_back(fmt::format("{} = {}", key, !waits && draw.chance(25) ? "\"\"" : value));
  return fmt::format("[[at]]\ntime = \"{}us\"\nrule = \"r{}\"\nset = {{ {} }}\n", at,
                     draw.below(rules), fmt::join(sets, ", "));
}

/// `waits`: small capacity, and releases that do not vary.
std::string draw_profile(Draw& draw, std::uint64_t microseconds_long, bool waits,
                         const std::filesystem::path& folder) {
  std::string text = fmt::format(
      "seed = {}\n[capacity]\nrate = \"1Gb/s\"\nsmallest_frame = \"64B\"\n"
      "largest_frame = \"1500B\"\n[ledger]\nall = {}\n[path]\nrate = \"100Gb/s\"\n"
      "[[path.span]]\nlength = \"{}m\"\n",
      draw.below(1000), draw.chance(50), draw.between(500, 20'000));
  const std::size_t rules = draw.between(1, 4);
  const unsigned likely = draw.one_of({0U, 8U, 25U, 60U});
  std::vector<Keys> all(rules);
  for (Keys& keys : all) {
    keys = draw_stages(draw, likely, waits, folder);
    if (!waits && draw.chance(20)) keys["delay"] = "\"path\"";
  }
  const bool shares = !waits && draw.chance(25);
  if (shares) share_queue(all, draw);
  for (std::size_t i = 0; i < rules; ++i) {
    text += fmt::format("[[rule]]\nname = \"r{}\"\n", i) + draw_match(draw) + draw_direction(draw);
    for (const auto& [key, value] : all[i]) text += fmt::format("{} = {}\n", key, value);
  }
  if (draw.chance(50))
    for (std::size_t i = draw.between(1, 4); i > 0; --i) text += draw_event(draw, i);
  if (draw.chance(50))
    for (std::size_t i = draw.between(1, 4); i > 0; --i)
      text += draw_act(draw, rules, microseconds_long, waits, shares, folder);
  return text;
}

std::vector<std::byte> draw_roce(Draw& draw, std::uint32_t psn) {
  roce::FrameFields fields;
  fields.bth.opcode = static_cast<std::uint8_t>(
      draw.one_of({0x04, 0x04, 0x00, 0x01, 0x02, 0x0a, 0x0c, 0x10, 0x11, 0x81, 0x64}));
  fields.bth.dest_qp = static_cast<std::uint32_t>(draw.between(17, 21));
  fields.bth.psn = wire::Psn(psn);
  fields.bth.ack_req = draw.chance(20);
  if (draw.chance(10)) fields.encapsulation = wire::Encapsulation::ipv6;
  fields.ipv4.ecn = static_cast<std::uint8_t>(draw.below(4));
  fields.ipv4.dscp = static_cast<std::uint8_t>(draw.one_of({0, 26, 48}));
  fields.ipv6.traffic_class = static_cast<std::uint8_t>(draw.below(256));
  fields.ipv4.source = {std::byte{10}, {}, {}, std::byte{static_cast<std::uint8_t>(draw.below(2))}};
  if (draw.chance(10))
    fields.vlans.push_back({.id = static_cast<std::uint16_t>(draw.between(4, 6))});
  const bool bare = fields.bth.opcode == 0x0c || fields.bth.opcode == 0x11;
  std::vector<std::byte> payload(bare                        ? 0
                                 : fields.bth.opcode == 0x81 ? 16
                                                             : draw.below(draw.one_of({64, 1200})));
  if (fields.bth.opcode != 0x81)
    for (std::byte& b : payload) b = static_cast<std::byte>(draw.below(256));
  return roce::compose(fields, payload);
}

std::vector<std::byte> draw_frame(Draw& draw, std::uint32_t psn, bool pauses) {
  if (pauses && draw.chance(4)) {
    wire::PfcFields asked;
    asked.quanta[draw.between(2, 4)] =
        static_cast<std::uint16_t>(draw.below(draw.chance(30) ? 1 : 800));
    const auto frame = wire::pfc_frame({}, asked);
    return {frame.begin(), frame.end()};
  }
  if (draw.chance(8)) return other_frame(draw.between(60, 900));
  auto frame = draw_roce(draw, psn);
  if (draw.chance(3)) frame.resize(draw.between(14, frame.size()));
  if (draw.chance(3) && frame.size() > 21) frame[14 + 6] = std::byte{0x20};  // a fragment
  return frame;
}

}  // namespace

void write_profile_files(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / kDelays) << "low,high,weight\n1us,2us,3\n5us,9us,1\n";
  std::ofstream(folder / kTrace) << "time,delay,loss,rate\n0us,10us,,300Mb/s\n90us,,20%,\n"
                                    "200us,40us,0%,2Gb/s\n310us,1us,,\n";
}

Impairment draw_impairment(Draw& draw, const std::filesystem::path& folder) {
  Impairment impairment;
  const bool tight = draw.chance(15);
  if (tight) impairment.capacity = draw.between(4, 40);
  impairment.both = draw.chance(75);
  std::map<Direction, std::uint32_t> psn;
  const unsigned together = draw.one_of({1U, 2U, 4U, 12U, 40U});
  Instant at = instant_from_ns(5'000'000);
  for (int i = 0; i < 25; ++i) {
    at += Duration{static_cast<std::int64_t>(draw.between(1, draw.one_of({300, 5'000, 40'000})))};
    const Direction direction =
        impairment.both && draw.chance(50) ? Direction::east_to_west : Direction::west_to_east;
    Burst burst{at, direction, {}};
    for (std::uint64_t n = draw.between(1, together); n > 0; --n)
      burst.frames.push_back(draw_frame(draw, psn[direction]++ % 100, impairment.both));
    impairment.bursts.push_back(std::move(burst));
  }
  const auto length =
      static_cast<std::uint64_t>((at - impairment.bursts.front().at).count() / 1000 + 2);
  do impairment.profile = draw_profile(draw, length, tight, folder);
  while (!config::parse_impair_profile(impairment.profile, "drawn"));
  return impairment;
}

}  // namespace lw::test
