// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/client_files.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/profile_source.h"
#include "support/temporary.h"

namespace lw::config {
namespace client_files_test {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// A folder with `allowed`, which a client may name files of, beside others.
class ClientFilesTest : public testing::Test {
 protected:
  ClientFilesTest() {
    fs::remove_all(top_);
    fs::create_directories(top_ / "allowed" / "sub");
    write("secret.txt", "hunter2\nsecond\n");
    write("allowed/trace.csv", "time,delay\n0s,1ms\n");
    write("allowed/wrong.csv", "time,delay\n0s,hunter2\n");
    write("allowed/words.txt", "hunter2\n");
    write("allowed/path.toml", "[[span]]\nlength = \"100km\"\n");
    write("allowed/bad.toml", "[[span]]\nlength = \"hunter2\"\n");
    write("allowed/not.toml", "[[span]]\nhunter2\n");
    write("allowed/includes.toml", "include = \"../secret.txt\"\n[[span]]\nlength = \"1km\"\n");
    fs::create_symlink("../secret.txt", top_ / "allowed/out.csv");
    fs::create_symlink("trace.csv", top_ / "allowed/in.csv");
    fs::create_symlink("..", top_ / "allowed/up");
    mkfifo((top_ / "allowed/pipe").c_str(), 0600);
    files_ = ClientFiles::below((top_ / "allowed").string()).value();
  }
  ~ClientFilesTest() override { fs::remove_all(top_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(top_ / name) << text;
  }
  std::string read(const std::string& name) const {
    const auto text = files_.read(files_.path_of(top_, name));
    return text ? *text : "refused: " + text.error().message;
  }
  /// The error of a profile in which a client has set a key of its rule; empty: it is valid.
  std::string error_of(const std::string& key, const std::string& value,
                       const ClientFiles& files) const {
    const auto reading = ProfileSource::read(kProfile, {(top_ / "p.toml").string()}).value();
    const std::vector<Edit> edits = {
        {.table = "rule", .name = "r", .key = key, .value = value, .only = &files}};
    const auto profile = reading.source->with(edits);
    return profile ? "" : profile.error().message;
  }

  static constexpr std::string_view kProfile = "[[rule]]\nname = \"r\"\ndelay = \"1ms\"\n";
  const fs::path top_ = fs::path(lw::test::temporary_folder()) / "client_files_test";
  ClientFiles files_;
};

TEST_F(ClientFilesTest, ANameStaysBelowTheFolder) {
  const std::string text = "time,delay\n0s,1ms\n";
  EXPECT_EQ(read("trace.csv"), text);
  EXPECT_EQ(read("allowed/trace.csv"), text) << "as the profile names it";
  EXPECT_EQ(read((top_ / "allowed/trace.csv").string()), text);
  EXPECT_EQ(read("sub/../trace.csv"), text);
  EXPECT_EQ(read("in.csv"), text);
  const std::string refused = read("missing.csv");
  EXPECT_THAT(refused, HasSubstr("refused: expected a file below the folder of --web-files"));
  for (const std::string& name :
       {std::string("secret.txt"), (top_ / "secret.txt").string(), std::string("../secret.txt"),
        std::string("allowed/../secret.txt"), std::string("out.csv"), std::string("up/secret.txt"),
        std::string("pipe"), std::string("sub"), std::string("."), std::string(""),
        std::string("/etc/shadow"), std::string("/dev/zero"), std::string("/proc/self/environ"),
        std::string("trace.csv\0.csv", 14)})
    EXPECT_EQ(read(name), refused) << name;
}

TEST_F(ClientFilesTest, WithoutAFolderNoFileMayBeNamed) {
  EXPECT_THAT(ClientFiles().read((top_ / "allowed/trace.csv").string()).error().message,
              HasSubstr("--web-files DIR"));
  EXPECT_FALSE(ClientFiles::below((top_ / "missing").string()));
  EXPECT_FALSE(ClientFiles::below((top_ / "secret.txt").string()));
}

TEST_F(ClientFilesTest, EveryKeyThatNamesAFileIsHeldToIt) {
  const auto edits = [this](const std::string& name) {
    return std::vector<std::pair<std::string, std::string>>{
        {"trace.file", name},
        {"trace", fmt::format("{{ file = \"{}\" }}", name)},
        {"loss", fmt::format("{{ model = \"listed\", file = \"{}\" }}", name)},
        {"jitter", fmt::format("{{ distribution = \"histogram\", file = \"{}\" }}", name)},
        {"jitter",
         fmt::format("{{ distribution = \"netem\", deviation = \"1us\", file = \"{}\" }}", name)}};
  };
  const std::string secret = (top_ / "secret.txt").string();
  for (const auto& [key, value] : edits(secret)) {
    EXPECT_THAT(error_of(key, value, files_), HasSubstr("--web-files, found none")) << value;
    EXPECT_THAT(error_of(key, value, ClientFiles()), HasSubstr("--web-files DIR")) << value;
  }
  for (const auto& [key, value] : edits("words.txt")) {
    const std::string error = error_of(key, value, files_);
    EXPECT_THAT(error, HasSubstr("words.txt: ")) << value;
    EXPECT_THAT(error, Not(HasSubstr("hunter2"))) << value;
  }
  EXPECT_EQ(error_of("trace.file", "trace.csv", files_), "");
  EXPECT_THAT(error_of("trace.file", "wrong.csv", files_), HasSubstr("wrong.csv: line 2 "));
}

TEST_F(ClientFilesTest, ATextsValuesAreTheClientsToo) {
  const auto error = [this](const std::string& path) {
    const std::string text = path + "[[rule]]\nname = \"r\"\ndelay = \"path\"\n";
    const auto reading = ProfileSource::read(text, {(top_ / "allowed/p.toml").string(), &files_});
    return reading ? "" : reading.error().message;
  };
  EXPECT_EQ(error("path = \"path.toml\"\n"), "");
  for (const std::string name : {"../secret.txt", "includes.toml", "bad.toml", "not.toml", "x"}) {
    const std::string text = error("path = \"" + name + "\"\n");
    EXPECT_NE(text, "") << name;
    EXPECT_THAT(text, Not(HasSubstr("hunter2"))) << name;
  }
  EXPECT_THAT(error("path = \"bad.toml\"\n"), HasSubstr("bad.toml:2:10: "));
  EXPECT_THAT(error("path = \"not.toml\"\n"), HasSubstr("not.toml:2:"));
  EXPECT_THAT(error("delay = \"hunter2\"\n"), Not(HasSubstr("hunter2")));
  EXPECT_THAT(error("include = \"../secret.txt\"\n"), Not(HasSubstr("hunter2")));
}

TEST_F(ClientFilesTest, AnActKeepsWhoSaidIt) {
  const auto reading = ProfileSource::read(
                           "[[rule]]\nname = \"r\"\ndelay = \"path\"\n[path]\n"
                           "[[path.span]]\nlength = \"1km\"\n",
                           {(top_ / "p.toml").string()})
                           .value();
  const auto error = [&](const std::string& kind, Entries entries) {
    ControlCommand command{.name = "c", .kind = kind, .table = Value{{}, std::move(entries)}};
    restrict_files(*command.table, &files_);
    const auto steps = reading.source->steps_on_command({}, command);
    return steps ? "" : steps.error().message;
  };
  const auto text = [](const std::string& words) { return Value{{}, words}; };
  const std::string secret = (top_ / "secret.txt").string();
  const Value trace{{}, Entries{{"trace.file", {}, text(secret)}}};
  EXPECT_THAT(error("at", {{"rule", {}, text("r")}, {"set", {}, trace}}), HasSubstr("--web-files"));
  EXPECT_THAT(error("protection", {{"outage", {}, text("1ms")}, {"path", {}, text(secret)}}),
              HasSubstr("--web-files"));
  EXPECT_EQ(
      error("protection", {{"outage", {}, text("1ms")}, {"path", {}, text("allowed/path.toml")}}),
      "");
}

}  // namespace client_files_test
}  // namespace lw::config
