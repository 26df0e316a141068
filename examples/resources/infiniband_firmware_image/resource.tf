resource "infiniband_firmware_image" "vpi" {
  host   = "intel9"
  source = "images/fw-ConnectX3Pro-vpi.bin"
}

# Out of an archive, from the network: fetched once, and kept by its hash.
resource "infiniband_firmware_image" "release" {
  host    = "intel9"
  source  = "https://firmware.example.org/connectx3pro-2.42.5000.zip"
  member  = "release/fw-ConnectX3Pro-vpi.bin"
  sha256  = "c2d3b8e0d7f2a1b4c5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c"
  psid    = "MT_1090111019"
  version = "2.42.5000"
}
