"""What people do with photos: each command is one file, which learns, classifies, and prints."""
