// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/condition.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "core/names.h"

namespace lw::dissect {

/// A word of a condition.
struct ConditionToken {
  enum class Kind : std::uint8_t { end, word, text, sign, bad } kind = Kind::end;
  std::string_view text;  // of a quoted text without its quotes
  std::size_t column = 1;
};

namespace {

using Token = ConditionToken;

using Operation = Condition::Operation;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_.:/-").find(c) != std::string_view::npos;
}

constexpr std::string_view kSigns[] = {"==", "!=", "<=", ">=", "&&", "||", "..", "<",
                                       ">",  "!",  "&",  "(",  ")",  "{",  "}",  ","};

/// Words of Wireshark for a sign.
constexpr std::pair<std::string_view, std::string_view> kSignWords[] = {
    {"and", "&&"}, {"or", "||"}, {"not", "!"}, {"eq", "=="}, {"ne", "!="},
    {"lt", "<"},   {"le", "<="}, {"gt", ">"},  {"ge", ">="}};

Token word_token(std::string_view word, std::size_t column) {
  for (const auto& [name, sign] : kSignWords)
    if (word == name) return {Token::Kind::sign, sign, column};
  return {Token::Kind::word, word, column};
}

/// Returns the token at `at`, and sets `at` to its end.
Token next_token(std::string_view all, std::size_t& at) {
  while (at < all.size() && (all[at] == ' ' || all[at] == '\t' || all[at] == '\n')) ++at;
  const std::size_t start = at;
  if (start == all.size()) return {Token::Kind::end, "", start + 1};
  if (all[start] == '"') {
    const auto end = all.find('"', start + 1);
    if (end == std::string_view::npos) return {Token::Kind::bad, all.substr(start), start + 1};
    at = end + 1;
    return {Token::Kind::text, all.substr(start + 1, end - start - 1), start + 1};
  }
  for (const std::string_view sign : kSigns) {
    if (!all.substr(start).starts_with(sign)) continue;
    at += sign.size();
    return {Token::Kind::sign, sign, start + 1};
  }
  while (at < all.size() && is_word(all[at]) && !all.substr(at).starts_with("..")) ++at;
  if (at == start) return {Token::Kind::bad, all.substr(start), start + 1};
  return word_token(all.substr(start, at - start), start + 1);
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// "true", "True" or "TRUE" as Wireshark has them: 1.
std::optional<std::uint64_t> truth_of(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return 1;
  if (text == "false" || text == "False" || text == "FALSE") return 0;
  return std::nullopt;
}

/// Seconds since 1970 with up to nine digits after the point.
std::optional<Instant> time_of(std::string_view text) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const bool minus = text.starts_with('-');
  if (minus) text.remove_prefix(1);
  const auto point = text.find('.');
  std::string fraction(point == std::string_view::npos ? "" : text.substr(point + 1));
  if (point != std::string_view::npos && (fraction.empty() || fraction.size() > 9))
    return std::nullopt;
  fraction.resize(9, '0');
  const auto whole = number_of(text.substr(0, point)), part = number_of(fraction);
  if (!whole || !part || text.starts_with("0x") || *whole >= std::uint64_t{9'223'372'036})
    return std::nullopt;
  const auto ns = static_cast<std::int64_t>(*whole) * kSecond + static_cast<std::int64_t>(*part);
  return instant_from_ns(minus ? -ns : ns);
}

/// All addresses of a prefix.
template <class Address>
Condition::Range prefix_range(Address address, std::size_t bits) {
  Address low = address, high = address;
  for (std::size_t i = 0; i < address.bytes.size(); ++i) {
    const std::size_t kept = std::clamp<std::size_t>(bits, 8 * i, 8 * i + 8) - 8 * i;
    const auto host = static_cast<std::byte>(0xff >> kept);
    low.bytes[i] &= ~host;
    high.bytes[i] |= host;
  }
  return {low, high};
}

/// "10.0.0.1", "10.0.0.0/8".
template <class Address>
std::optional<Condition::Range> address_range(std::string_view text) {
  const auto slash = text.find('/');
  const auto parsed = wire::parse_ip(text.substr(0, slash));
  if (!parsed || !std::holds_alternative<Address>(*parsed)) return std::nullopt;
  const Address address = std::get<Address>(*parsed);
  constexpr std::size_t kBits = 8 * sizeof(Address::bytes);
  if (slash == std::string_view::npos) return prefix_range(address, kBits);
  const auto bits = number_of(text.substr(slash + 1));
  if (!bits || *bits > kBits) return std::nullopt;
  return prefix_range(address, *bits);
}

template <class T>
std::optional<Condition::Range> single(const std::optional<T>& value) {
  if (!value) return std::nullopt;
  return Condition::Range{*value, *value};
}

std::optional<Condition::Range> value_range(FieldType type, std::string_view text) {
  switch (type) {
    case FieldType::number:
      return single(truth_of(text).or_else([text] { return number_of(text); }));
    case FieldType::mac:
      return single(wire::parse_mac(text));
    case FieldType::ipv4:
      return address_range<wire::Ipv4Address>(text);
    case FieldType::ipv6:
      return address_range<wire::Ipv6Address>(text);
    case FieldType::time:
      return single(time_of(text));
    case FieldType::text:
      break;
  }
  return single(std::optional(std::string(text)));
}

bool in_ranges(const Condition::Test& test, const Value& value) {
  return std::ranges::any_of(test.ranges, [&](const Condition::Range& range) {
    return range.low <= value && value <= range.high;
  });
}

bool compares(const Condition::Test& test, const Value& value) {
  const auto& first = test.ranges.front();
  switch (test.operation) {
    case Operation::below:
      return value < first.low;
    case Operation::at_most:
      return value <= first.high;
    case Operation::above:
      return value > first.high;
    case Operation::at_least:
      return value >= first.low;
    case Operation::contains:
      return std::get<std::string>(value).contains(std::get<std::string>(first.low));
    default:
      return in_ranges(test, value);
  }
}

bool holds_for(const Condition::Test& test, const Value& value) {
  if (!test.masked) return test.operation == Operation::present || compares(test, value);
  const std::uint64_t bits = std::get<std::uint64_t>(value) & test.mask;
  return test.operation == Operation::present ? bits != 0 : compares(test, bits);
}

bool holds_test(const Condition::Test& test, const Dissection& dissection) {
  thread_local Values values;
  read_field(*test.field, dissection, values);
  const auto holds = [&](const Value& value) { return holds_for(test, value); };
  if (test.operation != Operation::different) return std::ranges::any_of(values, holds);
  return !values.empty() && std::ranges::none_of(values, holds);
}

constexpr std::string_view kContains = "contains";
/// For what Wireshark's grammar has, and these conditions lack.
constexpr std::string_view kTshark = "; tshark -Y takes it";

/// The error for a sign of Wireshark's grammar that conditions lack; empty for other signs.
std::string lacking(const Token& token) {
  if (token.kind == Token::Kind::bad && token.text.starts_with('['))
    return fmt::format(
        "a slice compares some bytes of a field, and conditions the whole field, or "
        "bits of a number (&){}",
        kTshark);
  if (token.text == "matches" || token.text.starts_with('~'))
    return fmt::format("conditions have no regular expressions: expected ==, in or contains{}",
                       kTshark);
  return {};
}

std::optional<Operation> comparison_of(std::string_view sign) {
  constexpr std::pair<std::string_view, Operation> kComparisons[] = {
      {"==", Operation::equal},   {"!=", Operation::different}, {"<", Operation::below},
      {"<=", Operation::at_most}, {">", Operation::above},      {">=", Operation::at_least}};
  const auto* found =
      std::ranges::find(kComparisons, sign, &std::pair<std::string_view, Operation>::first);
  if (found == std::end(kComparisons)) return std::nullopt;
  return found->second;
}

}  // namespace

/// Recursive descent: || binds least, then &&, then !.
class Condition::Parser {
 public:
  explicit Parser(std::string_view text) : all_(text) { advance(); }

  Parsed<Condition> run() {
    auto root = either();
    if (!root) return std::unexpected(root.error());
    if (token_.kind != Token::Kind::end) return expected("&&, || or the end");
    condition_.root_ = *root;
    return std::move(condition_);
  }

 private:
  using Kind = Condition::Kind;
  using NodeResult = Parsed<std::size_t>;
  static constexpr int kDeepest = 200;

  void advance() { token_ = next_token(all_, at_); }
  bool accept(std::string_view sign) {
    if (token_.kind != Token::Kind::sign || token_.text != sign) return false;
    advance();
    return true;
  }
  [[nodiscard]] std::unexpected<std::string> error_at(std::size_t column,
                                                      std::string_view what) const {
    return std::unexpected(fmt::format("column {}: {}", column, what));
  }
  [[nodiscard]] std::unexpected<std::string> expected(std::string_view what) const {
    if (token_.kind == Token::Kind::end)
      return error_at(token_.column, fmt::format("expected {}, found the end", what));
    if (token_.kind == Token::Kind::bad && token_.text.starts_with('"'))
      return error_at(token_.column, "a quoted text without its closing quote");
    if (const std::string why = lacking(token_); !why.empty()) return error_at(token_.column, why);
    if (token_.kind == Token::Kind::bad && token_.text.starts_with("="))
      return error_at(token_.column, "expected == to compare, found =");
    const std::string found =
        token_.kind == Token::Kind::bad ? first_character(token_.text) : std::string(token_.text);
    return error_at(token_.column, fmt::format("expected {}, found \"{}\"", what, found));
  }
  std::size_t add(Kind kind, std::size_t left, std::size_t right = 0) {
    condition_.nodes_.push_back({kind, left, right});
    return condition_.nodes_.size() - 1;
  }

  NodeResult either();
  NodeResult both();
  NodeResult negation();
  NodeResult test();
  NodeResult protocol(std::string_view unknown);
  std::size_t add_test(Condition::Test test);
  [[nodiscard]] bool at_comparison() const;
  Parsed<void> read_mask(Condition::Test& test);
  Parsed<void> read_values(Condition::Test& test);
  Parsed<void> read_set(Condition::Test& test);
  Parsed<Condition::Range> value(const Field& field);
  Parsed<Condition::Range> range(const Field& field);

  std::string_view all_;
  std::size_t at_ = 0;
  Token token_;
  Condition condition_;
  int depth_ = 0;
};

Parsed<std::size_t> Condition::Parser::either() {
  auto left = both();
  while (left && accept("||")) {
    const auto right = both();
    if (!right) return right;
    left = add(Kind::either, *left, *right);
  }
  return left;
}

Parsed<std::size_t> Condition::Parser::both() {
  auto left = negation();
  while (left && accept("&&")) {
    const auto right = negation();
    if (!right) return right;
    left = add(Kind::both, *left, *right);
  }
  return left;
}

Parsed<std::size_t> Condition::Parser::negation() {
  if (++depth_ > kDeepest)
    return error_at(token_.column,
                    fmt::format("more than {} levels of parentheses and !", kDeepest));
  NodeResult node;
  if (accept("!")) {
    node = negation();
    if (node) node = add(Kind::no, *node);
  } else if (accept("(")) {
    node = either();
    if (node && !accept(")")) node = expected(")");
  } else {
    node = test();
  }
  --depth_;
  return node;
}

Parsed<Condition::Range> Condition::Parser::value(const Field& field) {
  const Token token = token_;
  const bool is_value = token.kind == Token::Kind::word || token.kind == Token::Kind::text;
  auto found = is_value ? value_range(field.type, token.text) : std::nullopt;
  if (!found && is_value && find_field(token.text))
    return error_at(token.column, fmt::format("{} is compared with values, not with the field {}{}",
                                              field.name, token.text, kTshark));
  if (!found)
    return expected(
        fmt::format("a value of {}, {} {}", field.name,
                    field.type == FieldType::ipv4 || field.type == FieldType::ipv6 ? "an" : "a",
                    name_of(field.type)));
  const auto* number = std::get_if<std::uint64_t>(&found->low);
  if (number && field.bits > 0 && field.bits < 64 && *number >> field.bits != 0)
    return error_at(token.column,
                    fmt::format("{} has {} bits: expected at most {}, found {}", field.name,
                                field.bits, (std::uint64_t{1} << field.bits) - 1, token.text));
  advance();
  return *found;
}

Parsed<Condition::Range> Condition::Parser::range(const Field& field) {
  auto low = value(field);
  if (!low || !accept("..")) return low;
  const std::size_t column = token_.column;
  const auto high = value(field);
  if (!high) return high;
  if (high->high < low->low) return error_at(column, "the range ends before it begins");
  low->high = high->high;
  return low;
}

Parsed<void> Condition::Parser::read_set(Condition::Test& test) {
  if (!accept("{")) return expected("{ and the values of a set");
  do {
    auto found = range(*test.field);
    if (!found) return std::unexpected(found.error());
    test.ranges.push_back(std::move(*found));
  } while (accept(","));
  if (!accept("}")) return expected(", or }");
  return {};
}

Parsed<void> Condition::Parser::read_mask(Condition::Test& test) {
  if (test.field->type != FieldType::number)
    return error_at(token_.column, fmt::format("& takes bits of a number, and {} is {}",
                                               test.field->name, name_of(test.field->type)));
  advance();
  const auto mask = value(*test.field);
  if (!mask) return std::unexpected(mask.error());
  test.masked = true;
  test.mask = std::get<std::uint64_t>(mask->low);
  return {};
}

Parsed<void> Condition::Parser::read_values(Condition::Test& test) {
  if (token_.kind == Token::Kind::word && token_.text == "in") {
    test.operation = Operation::equal;
    advance();
    return read_set(test);
  }
  if (!at_comparison()) return {};
  const bool contains = token_.text == kContains;
  test.operation = contains ? Operation::contains : *comparison_of(token_.text);
  const Token sign = token_;
  const bool is_text = test.field->type == FieldType::text;
  const bool ordered = test.operation != Operation::equal && test.operation != Operation::different;
  if (contains && !is_text)
    return error_at(sign.column, fmt::format("contains looks into text, and {} is a {}: expected "
                                             "==, or & for bits of a number{}",
                                             test.field->name, name_of(test.field->type), kTshark));
  if (ordered && is_text && !contains)
    return error_at(sign.column,
                    fmt::format("{} is text: expected ==, !=, in or contains, found {}",
                                test.field->name, sign.text));
  advance();
  auto found = value(*test.field);
  if (!found) return std::unexpected(found.error());
  test.ranges.push_back(std::move(*found));
  return {};
}

bool Condition::Parser::at_comparison() const {
  if (token_.kind == Token::Kind::word) return token_.text == kContains;
  return token_.kind == Token::Kind::sign && comparison_of(token_.text).has_value();
}

std::size_t Condition::Parser::add_test(Condition::Test test) {
  condition_.tests_.push_back(std::move(test));
  return add(Kind::test, condition_.tests_.size() - 1);
}

/// A protocol's name alone: whether the frame has one of its fields. `unknown`: the error where
/// there is no such protocol either.
Parsed<std::size_t> Condition::Parser::protocol(std::string_view unknown) {
  const Token name = token_;
  const std::vector<const Field*> fields = fields_of_protocol(name.text);
  if (fields.empty()) return error_at(name.column, unknown);
  advance();
  if (at_comparison() || (token_.kind == Token::Kind::word && token_.text == "in"))
    return error_at(name.column, fmt::format("{} is a protocol: expected one of its fields, such "
                                             "as {}, to compare; tshark -Y looks into its bytes",
                                             name.text, fields.front()->name));
  std::size_t node = add_test({.field = fields.front()});
  for (const Field* field : std::span(fields).subspan(1))
    node = add(Kind::either, node, add_test({.field = field}));
  return node;
}

Parsed<std::size_t> Condition::Parser::test() {
  if (token_.kind != Token::Kind::word) return expected("the name of a field");
  const auto field = find_field(token_.text);
  if (!field) return protocol(field.error());
  advance();
  Condition::Test test{.field = *field};
  if (token_.kind == Token::Kind::sign && token_.text == "&")
    if (auto read = read_mask(test); !read) return std::unexpected(read.error());
  if (auto read = read_values(test); !read) return std::unexpected(read.error());
  return add_test(std::move(test));
}

Parsed<Condition> Condition::parse(std::string_view text) {
  auto condition = Parser(text).run();
  if (condition) condition->text_ = text;
  return condition;
}

bool Condition::holds(std::size_t index, const Dissection& dissection) const {
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Kind::test:
      return holds_test(tests_[node.left], dissection);
    case Kind::both:
      return holds(node.left, dissection) && holds(node.right, dissection);
    case Kind::either:
      return holds(node.left, dissection) || holds(node.right, dissection);
    case Kind::no:
      break;
  }
  return !holds(node.left, dissection);
}

}  // namespace lw::dissect
