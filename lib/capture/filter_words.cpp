// SPDX-License-Identifier: BSD-3-Clause
#include "capture/filter_words.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cctype>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "capture/limits.h"
#include "core/names.h"

namespace lw::capture {
namespace {

/// The words of libpcap 1.10's language that are no names, in alphabetical order, without those of
/// link types that no command reads: ATM, SS7, pf's logs and 802.11. (pcap-filter(7))
constexpr std::string_view kKeywords[] = {
    "aarp",
    "ah",
    "and",
    "arp",
    "atalk",
    "broadcast",
    "byte",
    "carp",
    "clnp",
    "csnp",
    "decnet",
    "dst",
    "es-is",
    "esis",
    "esp",
    "ether",
    "fddi",
    "gateway",
    "geneve",
    "greater",
    "host",
    "icmp",
    "icmp-echo",
    "icmp-echoreply",
    "icmp-ireq",
    "icmp-ireqreply",
    "icmp-maskreply",
    "icmp-maskreq",
    "icmp-paramprob",
    "icmp-redirect",
    "icmp-routeradvert",
    "icmp-routersolicit",
    "icmp-sourcequench",
    "icmp-timxceed",
    "icmp-tstamp",
    "icmp-tstampreply",
    "icmp-unreach",
    "icmp6",
    "icmp6-certpathadvert",
    "icmp6-certpathsolicit",
    "icmp6-destinationunreach",
    "icmp6-echo",
    "icmp6-echoreply",
    "icmp6-homeagentdiscoveryreply",
    "icmp6-homeagentdiscoveryrequest",
    "icmp6-ineighbordiscoveryadvert",
    "icmp6-ineighbordiscoverysolicit",
    "icmp6-mobileprefixadvert",
    "icmp6-mobileprefixsolicit",
    "icmp6-multicastlistenerdone",
    "icmp6-multicastlistenerquery",
    "icmp6-multicastlistenerreportv1",
    "icmp6-multicastlistenerreportv2",
    "icmp6-multicastrouteradvert",
    "icmp6-multicastroutersolicit",
    "icmp6-multicastrouterterm",
    "icmp6-neighboradvert",
    "icmp6-neighborsolicit",
    "icmp6-nodeinformationquery",
    "icmp6-nodeinformationresponse",
    "icmp6-packettoobig",
    "icmp6-parameterproblem",
    "icmp6-redirect",
    "icmp6-routeradvert",
    "icmp6-routerrenum",
    "icmp6-routersolicit",
    "icmp6-timeexceeded",
    "icmp6code",
    "icmp6type",
    "icmpcode",
    "icmptype",
    "ifindex",
    "igmp",
    "igrp",
    "iih",
    "inbound",
    "ip",
    "ip6",
    "ipx",
    "is-is",
    "isis",
    "iso",
    "l1",
    "l2",
    "lat",
    "len",
    "length",
    "less",
    "link",
    "llc",
    "lsp",
    "mask",
    "mopdl",
    "moprc",
    "mpls",
    "multicast",
    "net",
    "netbeui",
    "not",
    "or",
    "outbound",
    "pim",
    "port",
    "portrange",
    "ppp",
    "pppoed",
    "pppoes",
    "proto",
    "protochain",
    "psnp",
    "radio",
    "rarp",
    "sca",
    "sctp",
    "slip",
    "snp",
    "src",
    "stp",
    "tcp",
    "tcp-ack",
    "tcp-cwr",
    "tcp-ece",
    "tcp-fin",
    "tcp-push",
    "tcp-rst",
    "tcp-syn",
    "tcp-urg",
    "tcpflags",
    "tr",
    "udp",
    "vlan",
    "vrrp",
    "wlan",
};
static_assert(std::ranges::is_sorted(kKeywords));

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool consists_of(std::string_view text, std::string_view characters) noexcept {
  return !text.empty() && text.find_first_not_of(characters) == text.npos;
}

bool is_letter_or_digit(char c) noexcept { return std::isalnum(static_cast<unsigned char>(c)); }

bool is_plain_number(std::string_view text) noexcept {
  if (text.starts_with("0x") || text.starts_with("0X"))
    return consists_of(text.substr(2), kHexDigits);
  return consists_of(text, kDigits);
}

/// Whether the text is `least` to `most` parts with `mark` between them, each of which `holds`.
template <class Holds>
bool is_series(std::string_view text, char mark, int least, int most, Holds holds) {
  int parts = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(mark), text.size());
    if (!holds(text.substr(0, end))) return false;
    ++parts;
    if (end == text.size()) return parts >= least && parts <= most;
    text.remove_prefix(end + 1);
  }
}

bool is_mac(std::string_view text) {
  constexpr std::size_t kAllDigits = 12, kDigitsOfThree = 4;
  const auto one = [](std::string_view part) {
    return part.size() <= 2 && consists_of(part, kHexDigits);
  };
  const auto two = [](std::string_view part) {
    return part.size() == kDigitsOfThree && consists_of(part, kHexDigits);
  };
  return is_series(text, ':', 6, 6, one) || is_series(text, '-', 6, 6, one) ||
         is_series(text, '.', 6, 6, one) || is_series(text, '.', 3, 3, two) ||
         (text.size() == kAllDigits && consists_of(text, kHexDigits));
}

bool is_ipv6(std::string_view text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

bool is_value(std::string_view word) {
  const auto decimal = [](std::string_view part) { return consists_of(part, kDigits); };
  return is_series(word, '.', 1, 4, is_plain_number) || is_series(word, '-', 2, 2, decimal) ||
         is_mac(word) || is_ipv6(word);
}

/// The word at the start of `text`, as libpcap's scanner takes it; empty if no word starts here.
std::string_view word_at(std::string_view text) {
  const std::size_t address =
      std::min(text.find_first_not_of("0123456789abcdefABCDEF:."), text.size());
  const std::string_view colons = text.substr(0, address);
  if (std::ranges::count(colons, ':') >= 2 && (is_ipv6(colons) || is_mac(colons))) return colons;
  if (text.front() == '\\') return text.substr(0, text.find_first_of(" !()\n\t"));
  if (text.starts_with("&&") || text.starts_with("||")) return text.substr(0, 2);
  if (text.front() == '!' || text.front() == '$') return text.substr(0, 1);
  if (!is_letter_or_digit(text.front())) return {};
  const auto inside = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  std::size_t size =
      static_cast<std::size_t>(std::ranges::find_if_not(text, inside) - text.begin());
  while (size > 1 && (text[size - 1] == '-' || text[size - 1] == '_')) --size;
  return text.substr(0, size);
}

bool is_name(std::string_view word) {
  return (is_letter_or_digit(word.front()) || word.front() == '\\') && !is_value(word) &&
         !std::ranges::binary_search(kKeywords, word);
}

/// Calls `visit(word, offset)` with each word.
template <class Visit>
void for_each_word(std::string_view expression, Visit visit) {
  for (std::size_t at = 0; at < expression.size();) {
    const std::string_view word = word_at(expression.substr(at));
    if (!word.empty()) visit(word, at);
    at += std::max<std::size_t>(1, word.size());
  }
}

}  // namespace

std::size_t filter_words(std::string_view expression) {
  std::size_t words = 0;
  for_each_word(expression, [&](std::string_view, std::size_t) { ++words; });
  return words;
}

Parsed<void> check_filter_words(std::string_view expression, bool names_allowed) {
  if (expression.size() > kLongestFilter)
    return std::unexpected(
        fmt::format("expected at most {} bytes, found {}", kLongestFilter, expression.size()));
  std::size_t words = 0;
  std::string error;
  for_each_word(expression, [&](std::string_view word, std::size_t at) {
    if (!error.empty()) return;
    if (++words > kMostFilterWords)
      error = fmt::format("character {}: expected at most {} words, found {}", at + 1,
                          kMostFilterWords, filter_words(expression));
    if (!names_allowed && is_name(word))
      error = fmt::format(
          "character {}: expected an address, a number or a keyword, found the name \"{}\"; names "
          "are not looked up",
          at + 1, excerpt(word));
  });
  return error.empty() ? Parsed<void>{} : std::unexpected(std::move(error));
}

}  // namespace lw::capture
