//! Tests of profiles: who may change them, their limits and pictures, and two changes at the same time; on both
//! engines.

#![expect(clippy::unwrap_used, reason = "what cannot be had fails the test")]

use crate::support::each_farm;
use model::{Code, ErrorKind, SmallImage};
use repository::{MAX_ABOUT_CHARS, Profile};

fn picture() -> SmallImage {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    file.extend(64_u32.to_be_bytes());
    file.extend(64_u32.to_be_bytes());
    SmallImage::new(file).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn people_change_their_own_profile_and_administrators_all() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        let ((berta_id, berta), (_, carl)) = (farm.person("berta").await, farm.person("carl").await);
        assert_eq!(carl.profile(berta_id).await.unwrap().1, Profile::default());
        let profile = Profile {
            job_title: " Head of sales ".into(),
            web_address: "https://example.org".into(),
            about: "One\r\n\r\nTwo\n".into(),
            ..Profile::default()
        };
        let stored = berta.set_profile(berta_id, profile.clone()).await.unwrap();
        assert_eq!(
            (stored.revision, stored.job_title.as_str(), stored.about.as_str()),
            (1, "Head of sales", "One\n\nTwo")
        );
        assert_eq!(carl.profile(berta_id).await.unwrap().1, stored);
        let refused = carl.set_profile(berta_id, Profile { revision: 1, ..profile.clone() }).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Forbidden);
        assert_eq!(carl.set_profile_picture(berta_id, None).await.unwrap_err().kind(), ErrorKind::Forbidden);
        // Somebody who did not see the present one changes nothing.
        let late = berta.set_profile(berta_id, profile.clone()).await.unwrap_err();
        assert_eq!((late.kind(), late.code()), (ErrorKind::Conflict, Code::Overtaken));
        // The picture stays with the texts, and the texts with the picture.
        let pictured = berta.set_profile_picture(berta_id, Some(picture())).await.unwrap();
        assert_eq!((pictured.revision, pictured.has_picture), (2, true));
        assert_eq!(carl.profile_picture(berta_id).await.unwrap(), picture());
        let by_admin = Profile { revision: 2, office: "2.14".into(), ..profile };
        assert!(admin.set_profile(berta_id, by_admin).await.unwrap().has_picture);
        assert_eq!(carl.profile_picture(berta_id).await.unwrap(), picture());
        assert!(!berta.set_profile_picture(berta_id, None).await.unwrap().has_picture);
        assert_eq!(carl.profile_picture(berta_id).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(carl.profile(berta_id).await.unwrap().1.office, "2.14");
        // A picture comes first for somebody without a profile.
        let own = carl.principal().id;
        assert_eq!(carl.set_profile_picture(own, Some(picture())).await.unwrap().revision, 1);
        admin.delete_account(own).await.unwrap();
        assert_eq!(berta.profile(own).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(berta.profile_picture(own).await.unwrap_err().kind(), ErrorKind::NotFound);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn profiles_have_limits() {
    each_farm(|farm| async move {
        let (id, berta) = farm.person("berta").await;
        let of = |change: &dyn Fn(&mut Profile)| {
            let mut profile = Profile::default();
            change(&mut profile);
            profile
        };
        for bad in [
            of(&|profile| profile.job_title = "x".repeat(256)),
            of(&|profile| profile.phone = "1\n2".into()),
            of(&|profile| profile.office = "a\u{0}".into()),
            of(&|profile| profile.about = "x".repeat(MAX_ABOUT_CHARS + 1)),
            of(&|profile| profile.about = "a\u{1b}".into()),
            of(&|profile| profile.web_address = "javascript:alert(1)".into()),
            of(&|profile| profile.web_address = "https://example.org/a b".into()),
        ] {
            assert_eq!(berta.set_profile(id, bad.clone()).await.unwrap_err().kind(), ErrorKind::Invalid, "{bad:?}");
        }
        let most = of(&|profile| profile.about = "ß".repeat(MAX_ABOUT_CHARS));
        assert_eq!(berta.set_profile(id, most.clone()).await.unwrap().about, most.about);
        // Of two changes that saw the same profile, one is stored.
        let next = |text: &str| Profile { revision: 1, office: text.into(), ..Profile::default() };
        let (one, other) = tokio::join!(berta.set_profile(id, next("1")), berta.set_profile(id, next("2")));
        assert_eq!(one.is_ok(), other.is_err());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_do_not_hide_people() {
    each_farm(|farm| async move {
        let admin = farm.administrator().await;
        for number in 0..60 {
            admin.create_group(&format!("Zeta {number:02}"), "").await.unwrap();
        }
        let (zora, _) = farm.person("zzora").await;
        let (found, is_cut) = admin.search_users("z", 50).await.unwrap();
        assert_eq!((found.iter().map(|one| one.id).collect::<Vec<_>>(), is_cut), (vec![zora], false));
        let (_, is_cut) = admin.search_users("", 1).await.unwrap();
        assert!(is_cut);
    })
    .await;
}
