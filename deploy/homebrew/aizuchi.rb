# scripts/formula fills in the owner, the version and the checksum of a release.
class Aizuchi < Formula
  desc "Companion in a team's chat that decides by itself when to speak"
  homepage "https://github.com/OWNER/aizuchi"
  url "https://github.com/OWNER/aizuchi/releases/download/vVERSION/aizuchi-VERSION-source.tar.gz"
  sha256 "SHA256"
  license any_of: ["MIT", "Apache-2.0"]
  head "https://github.com/OWNER/aizuchi.git", branch: "main"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"aizuchi", "completions")
    system bin/"aizuchi", "man", "--dir", buildpath/"man"
    man1.install Dir["man/*.1"]
    (buildpath/"config.yaml").write <<~YAML
      # `aizuchi config example` prints every setting with its default. Keys stand in .env beside this file, and are named
      # here as ${NAME}.
      storage:
        url: sqlite://#{var}/aizuchi/aizuchi.db
    YAML
    (etc/"aizuchi").install "config.yaml"
    (var/"aizuchi").mkpath
  end

  service do
    run [opt_bin/"aizuchi", "run"]
    environment_variables AIZUCHI_CONFIG: etc/"aizuchi/config.yaml"
    working_dir var/"aizuchi"
    keep_alive crashed: true
    log_path var/"log/aizuchi.log"
    error_log_path var/"log/aizuchi.log"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/aizuchi --version")
    (testpath/"config.yaml").write "discover: false\nstorage: {url: sqlite://test.db}\n"
    port = free_port
    pid = spawn bin/"aizuchi", "run", "--port", port.to_s
    sleep 3
    assert_match "ready", shell_output("curl -fsS http://127.0.0.1:#{port}/ready")
  ensure
    Process.kill "TERM", pid if pid
    Process.wait pid if pid
  end
end
