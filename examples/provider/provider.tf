provider "infiniband" {
  # The firmware of every card, as it was before each change.
  backup_dir = "${path.root}/firmware-backups"

  # For every host, unless its entry says otherwise. ~/.ssh/config and the agent count, too.
  ssh = {
    user = "ops"
  }

  hosts = {
    intel9 = {
      address = "192.0.2.20"
      reboot  = { allowed = true }
    }
    xeon2zfs = {
      address = "192.0.2.10"
      user    = "truenas_admin"
      reboot = {
        allowed         = true
        timeout         = "20m"
        drain_commands  = ["systemctl stop nfs-server"]
        resume_commands = ["systemctl start nfs-server"]
        drain_around    = ["link_type", "ipoib_interface"]
        interrupts      = ["NFS"] # its clients wait
      }
    }
    # Behind another host, which has a login and a host key of its own.
    gpu1 = {
      address    = "10.0.0.5"
      jump_hosts = [{ address = "bastion.example.org", user = "jump" }]
    }
    # Read, never written.
    backup1 = {
      address = "192.0.2.30"
      mode    = "observe"
    }
  }
}
