// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/body.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "gen/otg/limits.h"

namespace lw::gen::otg {
namespace {

using Json = nlohmann::ordered_json;

/// Counts the members of each object, and ends the reading at one with too many.
class MemberCounter final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override {
    members_.push_back(0);
    return true;
  }
  bool key(string_t& /*name*/) override {
    too_many_ = ++members_.back() > kMostMembers;
    return !too_many_;
  }
  bool end_object() override {
    members_.pop_back();
    return true;
  }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

  [[nodiscard]] bool too_many() const noexcept { return too_many_; }

 private:
  std::vector<std::size_t> members_;  // of the objects that are open
  bool too_many_ = false;
};

}  // namespace

Result<Json> read_body(std::string_view text) {
  MemberCounter counter;
  const bool is_json = Json::sax_parse(text, &counter);
  if (counter.too_many())
    return fail(fmt::format("expected at most {} fields in an object, found more", kMostMembers));
  Json json = is_json ? parse_json(text) : Json(Json::value_t::discarded);
  if (json.is_discarded()) return fail("the body is not JSON");
  return json;
}

}  // namespace lw::gen::otg
